// Package channeltest has the tests that every channel passes: each message is decided once, nothing is posted twice,
// nothing is lost over lost connections and kills, each place keeps its order, limits are respected, and what is unknown
// is said to be unknown. Run plays them with a Stage, which a channel provides for its own service.
package channeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

// Stage is a test server of a service with a person and one bot for each agent, who are all in every place. Nothing in
// it decides: it does to the channel what the real service does. Its methods are safe for concurrent use.
type Stage interface {
	// Name is the channel's name.
	Name() string
	// Settings are the channel's settings in openclaw.json, a JSON object: an account for each agent, called as the agent;
	// no slower than the test server allows.
	Settings() string
	// Open returns a channel for the server that is not yet running.
	Open(o channel.Options) channel.Channel

	// Place makes a place that is not a conversation. guild is its GuildID.
	Place() (guild, place string)
	// Person is the person's id, as the service has it.
	Person() string
	// Direct is the person's conversation with an agent's bot.
	Direct(agent string) (place string)
	// Say writes as the person: text, after a mention of an agent if that is not "". It returns the message's id.
	Say(place, agent, text string) (id string)
	// Upload writes as Say, with a file.
	Upload(place, agent, text, name string, content []byte) (id string)
	// FileTrouble lets something happen to the next request for a file: Refused or NeverOut.
	FileTrouble(what Trouble)
	// Posts returns what the bots have written in a place, oldest first.
	Posts(place string) []Post
	// Requests counts the requests that would change something in the service.
	Requests() int

	// Cut breaks a bot's connection; the service lets it go on where it was.
	Cut(agent string)
	// Forget breaks a bot's connection, and the service does not repeat what is written meanwhile, if it is such a
	// service: the channel has to fetch it.
	Forget(agent string)
	// Twice makes the service deliver everything twice, or not.
	Twice(on bool)
	// Trouble lets something happen to one of the next requests that post: the after-th, from 0.
	Trouble(what Trouble, after int)
	// Blind makes it impossible to find out what was posted, or possible again.
	Blind(on bool)
}

// Post is a message of a bot. After its text stands the FileText of each of its files.
type Post struct{ ID, Agent, Text string }

// FileText stands for a file in Post.Text.
func FileText(content []byte) string {
	sum := sha256.Sum256(content)
	return "file:" + hex.EncodeToString(sum[:])
}

// Trouble is what may happen to a request.
type Trouble int

const (
	Refused  Trouble = iota // the service fails, and nothing is done
	Lost                    // it is done, and the answer is lost
	Limited                 // too many requests: nothing is done
	NeverOut                // the connection breaks before anything is done
	troubles
)

// Amounts is how much the tests play.
type Amounts struct {
	Messages int           // of the person
	Posts    int           // deliveries
	Kills    int           // ends of the program
	Patience time.Duration // for what has to happen

	Unordered bool // the service itself delivers the messages of a place in any order
}

// Run runs the tests, each on a stage of its own. now is the clock of the program; the stage's is the same. Agents are
// the bots that it needs. The environment may set the number of kills, as in the crash tests.
func Run(t *testing.T, a Amounts, stage func(t *testing.T, agents []string, now func() time.Time) Stage) {
	t.Helper()
	if rounds, err := strconv.Atoi(os.Getenv(envRounds)); err == nil {
		a.Kills = rounds
	}
	for name, test := range map[string]struct {
		agents int
		play   func(*team)
	}{
		"each message is decided once, in order":     {3, (*team).decidesOnce},
		"what was missed is decided, in order":       {3, (*team).missesNothing},
		"nothing is posted twice or out of order":    {3, (*team).postsOnce},
		"kills lose nothing and repeat nothing":      {3, (*team).survivesKills},
		"a storm over ten bots changes nothing":      {10, (*team).storms},
		"conversations of two are decided once":      {3, (*team).speaksInPrivate},
		"files of messages reach their agents":       {3, (*team).fetchesFiles},
		"bots write first, each in one conversation": {3, (*team).writesFirst},
		"every text is posted, whatever it contains": {3, (*team).keepsMarkup},
		"what is unknown is said to be unknown":      {3, (*team).saysUnknown},
		"the limits of the service are respected":    {3, (*team).respectsLimits},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.play(newTeam(t, a, test.agents, stage))
		})
	}
}
