package server

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// speakRounds is how often the server is killed, unless the environment says otherwise.
const speakRounds = 3

// speakAim is when a server is killed: with the nth request of a kind, before or right after it is done; or so long after the nth event of a type;
// or after so long a time.
type speakAim struct {
	request string // postingMessages, openingThreads, listing...; a reminder or an escalation is postingSystem
	before  bool
	event   string
	nth     int
	after   time.Duration
}

// postingSystem is postingMessages of what openclawd says by itself.
const postingSystem = "reminders"

func (a speakAim) String() string {
	switch {
	case a.request != "" && a.before:
		return fmt.Sprintf("before request %d of %s is done", a.nth, a.request)
	case a.request != "":
		return fmt.Sprintf("when request %d of %s is done, and not answered", a.nth, a.request)
	case a.event != "":
		return fmt.Sprintf("%s after event %d of %s", a.after, a.nth, a.event)
	}
	return fmt.Sprintf("after %s", a.after)
}

func drawSpeakAim(r *rand.Rand) speakAim {
	nth := 1 + r.IntN(1<<r.IntN(4))
	switch n := r.IntN(10); {
	case n < 5:
		requests := []string{postingMessages, postingMessages, openingThreads, openingThreads, postingSystem, postingSystem, listingMessages, listingThreads}
		return speakAim{request: requests[r.IntN(len(requests))], before: r.IntN(3) == 0, nth: 1 + r.IntN(nth)}
	case n < 8:
		events := []string{coordination.TypeDiscordInboundHandled, coordination.TypeRunQueued, coordination.TypeRunEnded, coordination.TypeWorkLeased,
			coordination.TypeA2ACollaborateRequested, coordination.TypeA2ACollaborateSent, coordination.TypeA2ACollaborateResponded, coordination.TypeThreadCreated,
			coordination.TypeDiscordSent, coordination.TypeDiscordSendFailed, coordination.TypeCollabReminded, coordination.TypeCollabEscalated}
		return speakAim{event: events[r.IntN(len(events))], nth: nth, after: time.Duration(r.Int64N(int64(time.Millisecond)))}
	}
	return speakAim{after: time.Duration(r.Int64N(int64(900 * time.Millisecond)))}
}

// speakStride is how far the clock is set forward between runs: often not at all, or by about the time to a reminder.
func speakStride(r *rand.Rand) time.Duration {
	switch n := r.IntN(10); {
	case n < 3:
		return 0
	case n < 7:
		return time.Duration(r.Int64N(int64(3 * time.Second)))
	case n < 9:
		return time.Duration(r.Int64N(int64(90 * time.Second)))
	}
	return time.Duration(r.Int64N(int64(20 * time.Minute)))
}

// speakKills is what is known of all kills so far.
type speakKills struct {
	*discordTeam
	dir     string
	judge   *talkJudge
	seq     int64 // up to which the log was judged
	ahead   time.Duration
	faults  []*discordtest.Injected
	repeats *discordtest.InjectedDispatch
	matters []matter
	met     map[string]int // how many kills have met what they were aimed at
}

// Agents talk in a Discord that loses answers, and the server is killed again and again: before and right after Discord has done
// something, with reminders due, and anywhere. No message and no thread exists twice; Discord and the log agree; every message of a
// person is handled by one run, which is answered once; every request ends, and is answered, or reminded of at each step at most once,
// or a person is told; only what cannot be known is reported as unknown; and the tables are those of a rebuild.
//
// Promise: posted-once
func TestCrashWhileBotsSpeak(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, speakRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	minds := botMinds{base}
	k := &speakKills{dir: t.TempDir(), judge: newTalkJudge(), met: map[string]int{}}
	k.discordTeam = newDiscordTeam(t, discordSetting{
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer { return minds.answer(a) },
	})
	k.text = strings.Replace(k.text, "collaboration: {", fmt.Sprintf(`a2aRetry: { responseTimeoutMs: 1000 },
    collaboration: { allowedChannels: [%q], loopGuard: { maxCollaboratePerPair: 100000 },
      rateLimit: { threadCreationPerMinute: 100000, messagePerChannelPerSecond: 100000 },`, k.ops.ID), 1)
	if err := os.WriteFile(settings.File(k.dir), []byte(k.text), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 6))
		aim := drawSpeakAim(r)
		met := k.speaksUntilKilled(t, aim, r, round == 0)
		k.judges(t)
		if round%20 == 1 {
			k.checksTables(t)
		}
		t.Logf("round %d, killed %s: %t; %d events, %d messages", round+1, aim, met, k.seq, len(k.record().messages))
		if t.Failed() {
			t.FailNow()
		}
		k.models.Forget()
	}
	k.finishes(t)
	t.Logf("%v kills met their aim\n%s", k.met, k.judge.lines())
}

// speaksUntilKilled has people and agents talk until the server is killed, and says whether that was as aimed.
func (k *speakKills) speaksUntilKilled(t *testing.T, aim speakAim, r *rand.Rand, first bool) (met bool) {
	t.Helper()
	if !first {
		k.speak(t, r, r.IntN(3)) // before there is a listener
	}
	stride := speakStride(r)
	k.ahead += stride
	k.clock.Forward(stride)
	var mu sync.Mutex
	var aimed bool
	strike := func(s *goingServer) {
		mu.Lock()
		aimed = true
		mu.Unlock()
		s.kill()
	}
	heard := make(chan struct{}, 1)
	seen := 0
	var started atomic.Bool
	started.Store(!first)
	s := startSpeaking(t, k.dir, k.discord.URL(), k.ahead, func(s *goingServer, typ string) {
		if typ == coordination.TypeDiscordInboundHandled {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
		if typ == aim.event && started.Load() {
			if seen++; seen == aim.nth {
				time.AfterFunc(aim.after, func() { strike(s) })
			}
		}
	})
	if first { // what is written before the first start is not made up for
		k.begins(t, s, heard)
		started.Store(true) // nothing is aimed at while it begins: the test waits for that
	}
	if aim.request != "" {
		k.aimsAt(aim, func() { strike(s) })
	}
	if !first {
		k.isOut(r)
	}
	k.goesWrong(r)
	if aim.request == "" && aim.event == "" {
		time.AfterFunc(aim.after, func() { strike(s) })
	}
	late := time.AfterFunc(1500*time.Millisecond, s.kill)
	defer late.Stop()
	dice, most := rand.New(rand.NewPCG(r.Uint64(), 7)), max(mostUnanswered-k.judge.unanswered(), 1)
	for said := 0; ; said++ {
		pause := time.NewTimer(time.Duration(dice.Int64N(int64(60 * time.Millisecond))))
		select {
		case <-pause.C:
			if said < most {
				k.speak(t, dice, 1)
			}
			if dice.IntN(12) == 0 {
				k.bots[k.crew[dice.IntN(len(k.crew))].id].Drop()
			}
			continue
		case <-s.read:
		}
		pause.Stop()
		break
	}
	s.kill()
	k.settles(t)
	if s.cmd.ProcessState.Exited() {
		t.Fatalf("the server has ended by itself: %s\n%s", s.cmd.ProcessState, s.stderr.Bytes())
	}
	if strings.Contains(s.stderr.String(), "level=ERROR") {
		t.Errorf("the server says:\n%s", s.stderr.Bytes())
	}
	mu.Lock()
	defer mu.Unlock()
	if aimed {
		k.met["all"]++
		if aim.request != "" {
			k.met[aim.request]++
		}
	}
	return aimed
}

// begins lets the first server hear something in each channel.
func (k *speakKills) begins(t *testing.T, s *goingServer, heard <-chan struct{}) {
	t.Helper()
	if _, up := <-s.url; !up {
		t.Fatalf("the server does not begin:\n%s", s.stderr.Bytes())
	}
	var bots []string
	for _, b := range k.bots {
		bots = append(bots, b.ID)
	}
	if err := k.discord.WaitConnected(t.Context(), bots...); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{k.dev.ID, k.ops.ID} {
		k.says(place, "%s note that it begins", k.at("ruda"))
		waitFor(t, "the first message of "+place, heard)
	}
}

// mostUnanswered is how many runs wait, or are broken off, before people say less.
const mostUnanswered = 12

// speak has the person write to agents.
func (k *speakKills) speak(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	for range n {
		m := matter{name: fmt.Sprintf("k%d", len(k.matters)+1), agent: k.crew[r.IntN(len(k.crew))].id, asks: r.IntN(2) == 0}
		text := "note " + m.name
		if m.asks {
			other := k.crew[r.IntN(len(k.crew))].id
			for other == m.agent {
				other = k.crew[r.IntN(len(k.crew))].id
			}
			text = "ask " + other + " about " + m.name
			switch r.IntN(3) { // else in the thread that the two have had before
			case 0:
				text += " in about_" + m.name
			case 1:
				text += fmt.Sprintf(" in block_%d", len(k.matters)/20)
			}
		}
		place := k.dev.ID
		if r.IntN(3) == 0 {
			place = k.ops.ID
		}
		m.message = k.says(place, "%s %s", k.at(m.agent), text).ID
		k.matters = append(k.matters, m)
	}
}

// aimsAt has something happen with a request.
func (k *speakKills) aimsAt(aim speakAim, do func()) {
	effect := discordtest.Afterwards(do)
	if aim.before {
		effect = discordtest.Beforehand(do)
	}
	k.wrong(discordtest.Fault{After: aim.nth - 1, Effect: effect, Match: discordtest.Match{Test: func(r discordtest.Request) bool {
		if aim.request == postingSystem {
			return r.Route == postingMessages && response.SystemNonce(r.Nonce)
		}
		return r.Route == aim.request
	}}})
}

func (k *speakKills) wrong(f discordtest.Fault) { k.faults = append(k.faults, k.discord.Inject(f)) }

// goesWrong has Discord fail, now and then, in all its ways.
func (k *speakKills) goesWrong(r *rand.Rand) {
	const deeds, looks, hidden, connects = 1, 2, 4, 8
	for _, f := range []struct {
		oneIn, of int
		effect    discordtest.Effect
	}{
		{20, deeds, discordtest.LoseAnswer()}, {20, deeds, discordtest.Deny(502)}, {25, deeds | looks, discordtest.Unavailable(503)},
		{30, deeds | looks, discordtest.Cut()}, {40, deeds | looks, discordtest.TooManyRequests(150*time.Millisecond, false)}, {8, hidden, discordtest.Forbidden()},
		{3, connects, discordtest.Slow(time.Duration(r.Int64N(int64(200 * time.Millisecond))))}, {12, deeds | looks, discordtest.Slow(time.Duration(r.Int64N(int64(120 * time.Millisecond))))},
	} {
		dice := rand.New(rand.NewPCG(r.Uint64(), 8)) // of Discord, under its lock
		k.wrong(discordtest.Fault{Times: -1, Effect: f.effect, Match: discordtest.Match{Test: func(q discordtest.Request) bool {
			kind := 0
			switch q.Route {
			case postingMessages, openingThreads:
				kind = deeds
			case listingThreads:
				kind = looks | hidden
			case listingMessages:
				if kind = looks; finds(q.Path) {
					kind |= hidden
				}
			case "GET /applications/@me":
				kind = connects
			}
			return f.of&kind != 0 && dice.IntN(f.oneIn) == 0
		}}})
	}
	dice := rand.New(rand.NewPCG(r.Uint64(), 9)) // likewise
	k.repeats = k.discord.InjectDispatch(discordtest.DispatchFault{Times: -1, Effect: discordtest.Duplicate, Match: discordtest.DispatchMatch{
		Type: "MESSAGE_CREATE", Test: func(discordtest.Dispatch) bool { return dice.IntN(10) == 0 },
	}})
}

// finds says whether messages are listed from a moment on, as by who looks for one of its own, and not from a message on, as by who has been away.
func finds(path string) bool {
	_, after, _ := strings.Cut(path, "after=")
	id, err := strconv.ParseUint(after, 10, 64)
	return err == nil && id%(1<<22) == 0
}

// isOut has Discord do nothing for a while, now and then, from the moment when the server begins.
func (k *speakKills) isOut(r *rand.Rand) {
	if r.IntN(5) > 0 {
		return
	}
	over := time.Now().Add(time.Duration(r.Int64N(int64(1200 * time.Millisecond))))
	k.wrong(discordtest.Fault{Times: -1, Effect: discordtest.Unavailable(http.StatusServiceUnavailable), Match: discordtest.Match{
		Test: func(q discordtest.Request) bool {
			return slices.Contains([]string{postingMessages, openingThreads, listingMessages, listingThreads}, q.Route) && time.Now().Before(over)
		},
	}})
}

// settles waits until nothing is under way in Discord, and takes the faults away.
func (k *speakKills) settles(t *testing.T) {
	t.Helper()
	for _, f := range k.faults {
		f.Remove()
	}
	k.faults = nil
	k.repeats.Remove()
	err := k.discord.Until(t.Context(), func() bool {
		return !slices.ContainsFunc(k.discord.Requests(), func(r discordtest.Request) bool { return !r.Over })
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range k.bots {
		b.ForgetSessions()
	}
}

// record is what Discord has of itself.
func (k *speakKills) record() *discordRecord {
	d := &discordRecord{messages: k.messages(), requests: k.discord.Requests(), users: map[string]string{}}
	for _, c := range []discordtest.Channel{k.dev, k.ops} {
		d.threads = append(d.threads, k.discord.Threads(c.ID)...)
	}
	for account, b := range k.bots {
		d.users[account] = b.ID
	}
	return d
}

// opens gives the log that a kill has left; nil if there is none.
func (k *speakKills) opens(t *testing.T) *sqlite.DB {
	t.Helper()
	path := filepath.Join(k.dir, database.Name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// judges judges what a kill has left.
func (k *speakKills) judges(t *testing.T) {
	t.Helper()
	if db := k.opens(t); db != nil {
		k.reads(t, db)
		k.judge.holds(k.record())
		k.reports(t)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (k *speakKills) reads(t *testing.T, log eventLog) {
	t.Helper()
	for {
		events, err := log.Read(t.Context(), k.seq, 5_000)
		if err == nil {
			err = k.judge.read(events)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return
		}
		k.seq = events[len(events)-1].Seq
	}
}

func (k *speakKills) reports(t *testing.T) {
	t.Helper()
	for _, broken := range k.judge.broken {
		t.Error(broken)
	}
}

func (k *speakKills) checksTables(t *testing.T) {
	t.Helper()
	if db := k.opens(t); db != nil {
		checkGoingTables(t, db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// finishes serves what the kills have left until nothing is to be done, and judges all of it.
func (k *speakKills) finishes(t *testing.T) {
	t.Helper()
	k.reloading = startReloading(t, nil, withGateway, func(o *Options) {
		o.StateDir, o.DB, o.Now, o.DiscordAPI = k.dir, filepath.Join(k.dir, database.Name), k.clock.Now, k.discord.URL()
	})
	k.connected()
	for due, waiting := k.rests(t); waiting; due, waiting = k.rests(t) {
		k.advance(max(due.Sub(k.clock.Now()), 0) + 300*time.Millisecond) // with what is due soon after
	}
	record := k.record()
	k.judge.holds(record)
	k.judge.counts["is in Discord but not in the log"] = record.unknown
	var agents []string
	for _, a := range k.crew {
		agents = append(agents, a.id)
	}
	k.judge.finds(k.matters, agents)
	k.reports(t)
	k.showsUnknownPosts(t)
	if t.Failed() {
		t.Log(k.story())
	}
	if err := k.stop(); err != nil {
		t.Error(err)
	}
	k.checksTables(t)
}

// rests waits until everything that was written is decided about, and nothing is left to do now; it says when the first of what waits is due.
func (k *speakKills) rests(t *testing.T) (due time.Time, waiting bool) {
	t.Helper()
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("left are %q", left)
		}
	}()
	k.await("rest", func() bool {
		k.reads(t, k.Program.log)
		left = nil
		err := k.Program.log.View(t.Context(), func(tx *sql.Tx) error {
			items, err := workqueue.List(t.Context(), tx, workqueue.Query{})
			due, waiting = time.Time{}, false
			for i := range items {
				at := time.UnixMilli(items[i].DueAt)
				switch {
				case items[i].State == workqueue.Leased, items[i].State == workqueue.Waiting && !at.After(k.clock.Now()):
					left = append(left, items[i].EffectID)
				case items[i].State == workqueue.Waiting && (!waiting || at.Before(due)):
					due, waiting = at, true
				}
			}
			return err
		})
		head, gone := k.Program.log.Head(t.Context())
		if err := errors.Join(err, gone); err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			return false
		}
		for _, m := range k.messages() {
			if k.judge.decided[m.ID] == nil {
				left = append(left, "message "+m.ID+" of "+m.Author.Username)
			}
		}
		return len(left) == 0 && head.Seq == k.seq // else it was posted during the check
	})
	return due, waiting
}

// showsUnknownPosts checks that people are shown every post whose result is unknown.
func (k *speakKills) showsUnknownPosts(t *testing.T) {
	t.Helper()
	var dead struct {
		Items []struct{ EffectID, Error string }
	}
	var requests struct {
		Collaborations []struct{ CollabID string }
	}
	k.gets(t, "/api/work?state=dead&limit=1000", &dead)
	k.gets(t, "/api/collaborations?delivery=delivery_unknown&limit=1000", &requests)
	for _, p := range k.judge.posts {
		if p.end != postUnknown {
			continue
		}
		if !slices.ContainsFunc(dead.Items, func(i struct{ EffectID, Error string }) bool {
			return i.EffectID == p.effect && strings.Contains(i.Error, collaborate.CodeUnknown)
		}) {
			t.Errorf("GET /api/work does not show the unknown result of %s", p.effect)
		}
		if p.what.Purpose == delivery.Request && !slices.Contains(requests.Collaborations, struct{ CollabID string }{p.what.CollabID}) {
			t.Errorf("GET /api/collaborations does not show the unknown result of %s", p.what.CollabID)
		}
	}
}

func (k *speakKills) gets(t *testing.T, path string, into any) {
	t.Helper()
	response, err := http.Get(k.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", path, response.Status, err)
	}
}
