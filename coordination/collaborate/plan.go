package collaborate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Route is which thread a request goes to.
type Route string

const (
	RouteNamed  Route = "named_thread"  // the one that the request names
	RouteShared Route = "shared_thread" // the one in which both are already: it is a plain message there
	RouteReused Route = "reuse_thread"  // one that was opened for the same before
	RouteNew    Route = "new_thread"
)

// Plan is what is done. It is carried out in the order of its fields: the thread is opened, the messages are posted, the bots are registered.
type Plan struct {
	// Earlier is what has become of the same request before. Nothing is done then, and the rest says only who is meant.
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
	Hop         int    `json:"hop"`                  // how often it was passed on between agents, this time included

	Route      Route  `json:"route"`
	ThreadID   string `json:"threadId,omitempty"` // "" if it is to be opened
	ThreadName string `json:"threadName,omitempty"`
	ChannelID  string `json:"channelId,omitempty"` // of the thread
	GuildID    string `json:"guildId,omitempty"`
	Starter    bool   `json:"starter,omitempty"` // the channel is a forum: the thread is opened with the first message

	Messages []string `json:"-"` // in order; the first one mentions the target, but for RouteShared
	Notify   []string `json:"-"` // user ids that are notified; nobody else is, whatever the text says

	Participants []string `json:"participants,omitempty"` // user ids of the bots that take part in the thread from now on
	Tracked      bool     `json:"tracked,omitempty"`      // an answer is waited for

	Original string `json:"original"`           // what was asked, without secrets, cut
	Key      string `json:"key"`                // of the request
	Content  string `json:"content"`            // the hash of what it says
	Base     int64  `json:"base"`               // when it was taken on first, ms since 1970: its nonces follow from it
	ReuseKey string `json:"reuseKey,omitempty"` // under which the thread is kept; "" for one that is named or shared
	Forget   bool   `json:"forget,omitempty"`   // what was kept under ReuseKey is no more
	Again    bool   `json:"again,omitempty"`    // it is decided anew, see Next.Anew, and counts for the pair already
}

// Seed is what the nonces of the messages follow from: the same one whenever the request is tried again, so that what stands in its thread already is
// not posted twice.
func (p *Plan) Seed() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", p.Key, p.Base))
	return "collab:" + hex.EncodeToString(sum[:])
}

// Recall is what the agent who asks finds in its own session of the thread, so that it knows what is answered there. origin is the session and
// task that the request comes from; task may be "".
func (p *Plan) Recall(threadID, originSession, originTask string) (sessionKey, text string) {
	var b strings.Builder
	fmt.Fprintf(&b, "[You asked %s in this thread]\n%s\n\nThis comes from session %s", p.TargetName, p.Original, originSession)
	if originTask != "" {
		fmt.Fprintf(&b, ", task %s", originTask)
	}
	b.WriteString(". What is answered here is for that.")
	return coordination.ChannelKey(p.From, "discord", threadID).String(), b.String()
}

// compose writes the messages, and says whom they notify.
func (p *Plan) compose(s *Situation, message string) {
	content := message
	if p.Route != RouteShared {
		content = "<@" + p.TargetBotID + ">\n\n" + message
		p.Notify = []string{p.TargetBotID}
	}
	p.Messages = Chunks(content)
	for _, b := range s.Bots {
		if (strings.Contains(message, "<@"+b.UserID+">") || strings.Contains(message, "<@!"+b.UserID+">")) && !slices.Contains(p.Notify, b.UserID) {
			p.Notify = append(p.Notify, b.UserID)
		}
	}
}

// roster knows the names of bots.
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
