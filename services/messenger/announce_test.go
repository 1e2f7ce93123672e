package messenger_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// syncWriter is a log that many write to.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// board is a channel that keeps what is posted. It fails as often as it is told to.
type board struct {
	mu    sync.Mutex
	fails int
	posts []messenger.Post
}

func (b *board) Account(p messenger.Post) string { return p.AccountID }
func (b *board) Reaches(channel string) bool     { return channel == "discord" }

func (b *board) Post(_ context.Context, p messenger.Post) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts = append(b.posts, p)
	if len(b.posts) <= b.fails {
		return errDown
	}
	return nil
}

func (b *board) all() []messenger.Post {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.posts)
}

// speak has an agent be spoken to in a channel, and answer.
func speak(team *a2atest.Team, agent string) {
	speakIn(team, agent, "discord")
}

func speakIn(team *a2atest.Team, agent, channel string) {
	speakTo(team, coordination.MainKey(agent), channel, "channel:"+agent)
}

func speakTo(team *a2atest.Team, key coordination.SessionKey, channel, to string) {
	runID := "spoken-" + to + channel
	_, err := team.Runner.Queue(context.Background(), run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{
		RunID: runID, SessionKey: key.String(), Cause: "chat", Message: "hello", Channel: channel, To: to, AccountID: "team", ThreadID: "7"}})
	if err != nil {
		panic(err)
	}
	team.Ended(runID)
}

// inGroup asks a session of seum's in which others read along.
func inGroup(r *messenger.Request) {
	announce(r)
	key, err := coordination.ParseSessionKey("agent:seum:discord:channel:7")
	if err != nil {
		panic(err)
	}
	r.Target = key
}

func announce(r *messenger.Request) { r.NoAnnounce = false }

// announcing answers, and says what is to be posted.
func announcing(text string) func(a2atest.Asked) a2atest.Answer {
	return func(a a2atest.Asked) a2atest.Answer {
		if strings.Contains(a.System, "ANNOUNCE_SKIP") {
			return a2atest.Say(text)
		}
		return a2atest.Say("an answer that is long enough")
	}
}

func TestWhatCameOfItIsAnnounced(t *testing.T) {
	t.Parallel()
	b := &board{fails: 2}
	team := setup(t, a2atest.Setting{Channels: b, Answer: announcing("seum has done it")})
	speak(team, "eden")
	r := team.MustSend("eden", "seum", "do it", announce)
	for attempt := 2; attempt <= 3; attempt++ {
		team.Until(r.JobID, func(f *flows.Row) bool { return f.Phase == a2a.Posting && f.Attempt == attempt })
		team.Advance(time.Minute)
	}
	team.Over(r.JobID)
	team.CheckSettled()
	want := messenger.Post{Key: r.JobID + ".post", Agent: "seum", Channel: "discord", To: "channel:eden", AccountID: "team", ThreadID: "7", Text: "seum has done it"}
	if diff := cmp.Diff([]messenger.Post{want, want, want}, b.all()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]; !complete.Announced {
		t.Errorf("%+v", complete)
	}
}

func TestWhereItIsAnnounced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoken   []string // agent and channel
		text     string
		change   func(*messenger.Request)
		posted   string // where
		announce bool
	}{
		"to the target's people, if the requester has none":                        {[]string{"seum discord"}, "done", announce, "channel:seum", true},
		"to the requester's people first":                                          {[]string{"seum discord", "eden discord"}, "done", announce, "channel:eden", true},
		"where the session is read that was asked for, before the target's people": {[]string{"seum discord"}, "done", inGroup, "channel:7", true},
		"to the requester's people before those":                                   {[]string{"seum discord", "eden discord"}, "done", inGroup, "channel:eden", true},
		"not to a local viewer of a session":                                       {[]string{"eden webchat"}, "done", announce, "", false},
		"not to a channel that is not there":                                       {[]string{"eden telegram", "seum discord"}, "done", announce, "channel:seum", true},
		"nowhere":                                                                  {nil, "done", announce, "", false},
		"not if the target does not want to":                                       {[]string{"eden discord"}, "ANNOUNCE_SKIP", announce, "", false},
		"not if the requester does not want it":                                    {[]string{"eden discord"}, "done", func(*messenger.Request) {}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &board{}
			team := setup(t, a2atest.Setting{Channels: b, Answer: announcing(c.text)})
			for _, s := range c.spoken {
				agent, channel, _ := strings.Cut(s, " ")
				speakIn(team, agent, channel)
			}
			request := team.Message("eden", "seum", "do it", c.change)
			if request.Target != coordination.MainKey("seum") {
				speakTo(team, request.Target, "discord", "channel:7")
			}
			r := team.MustSend("eden", "seum", "do it", c.change)
			team.Over(r.JobID)
			team.CheckSettled()
			posted := ""
			for _, p := range b.all() {
				posted += p.To
			}
			complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]
			if posted != c.posted || complete.Announced != c.announce || complete.AnnounceSkipped == c.announce {
				t.Errorf("posted to %q: %+v", posted, complete)
			}
		})
	}
}

// A run that only has to write a summary, and does not, is stopped: it is no longer needed.
func TestASummaryThatTakesTooLongIsStopped(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	team := setup(t, a2atest.Setting{Channels: &board{}, Answer: func(a a2atest.Asked) a2atest.Answer {
		if strings.Contains(a.System, "ANNOUNCE_SKIP") {
			close(asked)
			<-a.Context.Done()
		}
		return a2atest.Say("an answer that is long enough")
	}})
	speak(team, "eden")
	r := team.MustSend("eden", "seum", "do it", announce)
	<-asked
	team.Advance(2*a2a.TurnMs*time.Millisecond + time.Second)
	if row := team.Over(r.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	if end := team.Ended(r.JobID + ".a"); end.State != run.Aborted {
		t.Errorf("%+v", end)
	}
	team.CheckSettled()
	if complete := a2atest.Data[coordination.A2AComplete](team, coordination.TypeA2AComplete, r.JobID)[0]; complete.Announced || complete.Error == "" {
		t.Errorf("%+v", complete)
	}
}
