package collaborate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Route says how the thread of a request was chosen.
type Route string

const (
	RouteNamed  Route = "named_thread"  // the one that the request names
	RouteShared Route = "shared_thread" // the one in which both are already: it is a plain message there
	RouteReused Route = "reuse_thread"  // one that was opened for the same before
	RouteNew    Route = "new_thread"
)

// Plan is what to do. It is executed in the order of its fields: the thread is opened, the messages are posted, the
// bots are registered.
type Plan struct {
	// Earlier is the result of the same request before. Nothing is done then, and the other fields only say who is
	// meant.
	Earlier *Earlier `json:"-"`

	From        string `json:"from"`   // agents' ids
	Target      string `json:"target"` //
	FromName    string `json:"fromName"`
	TargetName  string `json:"targetName"`
	AccountID   string `json:"accountId"` // whose bot speaks
	BotID       string `json:"botId"`     // user ids
	TargetBotID string `json:"targetBotId"`
	SessionKey  string `json:"sessionKey,omitempty"` // that asks
	RunID       string `json:"runId,omitempty"`      // in which it asks; "" outside of runs
	Hop         int    `json:"hop"`                  // how often it was passed on between agents, including this time

	Route      Route  `json:"route"`
	ThreadID   string `json:"threadId,omitempty"` // "" if it is to be opened
	ThreadName string `json:"threadName,omitempty"`
	ChannelID  string `json:"channelId,omitempty"` // of the thread
	GuildID    string `json:"guildId,omitempty"`
	Starter    bool   `json:"starter,omitempty"` // the channel is a forum: the thread is opened with the first message

	Messages []string `json:"-"` // in order; the first one mentions the target, but for RouteShared
	Notify   []string `json:"-"` // user ids that are notified; no others are, whatever the text says

	Participants []string `json:"participants,omitempty"` // user ids of the bots that take part in the thread from now on
	Tracked      bool     `json:"tracked,omitempty"`      // an answer is expected

	Original string `json:"original"`           // what was asked, without secrets, cut
	Key      string `json:"key"`                // of the request
	Content  string `json:"content"`            // content hash
	Base     int64  `json:"base"`               // first acceptance, ms since 1970: the seed of its nonces
	ReuseKey string `json:"reuseKey,omitempty"` // under which the thread is kept; "" for one that is named or shared
	Forget   bool   `json:"forget,omitempty"`   // the thread kept under ReuseKey is gone
	Again    bool   `json:"again,omitempty"`    // it is decided again, see Next.Redecide, and counts for the pair already
}

// Seed determines the nonces of the messages: it is the same for every retry of the request, so that messages already
// in its thread are not posted twice.
func (p *Plan) Seed() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", p.Key, p.Base))
	return "collab:" + hex.EncodeToString(sum[:])
}

// Recall is the note in the requester's own session of the thread, so that it knows what is answered there. origin is
// the session and task that the request comes from; task may be "".
func (p *Plan) Recall(threadID, originSession, originTask string) (sessionKey, text string) {
	var b strings.Builder
	fmt.Fprintf(&b, "[You asked %s in this thread]\n%s\n\nThis comes from session %s", p.TargetName, p.Original, originSession)
	if originTask != "" {
		fmt.Fprintf(&b, ", task %s", originTask)
	}
	b.WriteString(". What is answered here is for that.")
	return coordination.PlaceKey(p.From, threadID, false).String(), b.String()
}

// compose writes the messages, and returns whom they notify.
func (p *Plan) compose(s *Situation, message string) {
	content := message
	if p.Route != RouteShared {
		content = "<@" + p.TargetBotID + ">\n\n" + message
		p.Notify = []string{p.TargetBotID}
	}
	channel, _ := coordination.ChannelNamed(coordination.ChannelOf(p.ChannelID))
	p.Messages = ChunksFor(channel, content)
	for _, b := range s.Bots {
		if (strings.Contains(message, "<@"+b.UserID+">") || strings.Contains(message, "<@!"+b.UserID+">")) && !slices.Contains(p.Notify, b.UserID) {
			p.Notify = append(p.Notify, b.UserID)
		}
	}
}

// roster has the names of bots.
func (s *Situation) roster() *coordination.Roster {
	r := coordination.DefaultRoster()
	for _, b := range s.Bots {
		if a := s.agent(b.Agent); a.ID != "" {
			r.Mentions[b.UserID] = a.name()
		}
	}
	return r
}

func (a Agent) name() string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}
