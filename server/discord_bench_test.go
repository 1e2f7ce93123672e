package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/server/settings"
)

// crowdConfig has agents with a bot each, who answer where they are mentioned, and say nothing in nine of ten answers.
const crowdConfig = `{
  agents: { list: [%s], defaults: { model: "scripted/scripted", taskContinuation: { enabled: false } } },
  bindings: [%s],
  channels: { discord: { accounts: { %s }, requireMention: true,
    collaboration: { defaultChannel: %q, rateLimit: { messagePerChannelPerSecond: 1000 } } } },
  models: { scripted: { script: "script.json" } },
}
`

const crowdScript = `{ "rules": [ { "when": { "contains": ["말해"] }, "answer": { "text": "확인했습니다" } }, { "answer": { "text": "NO_REPLY" } } ] }`

const (
	crowdBots     = 10
	crowdChannels = 5
	crowdPeople   = 5
	crowdAhead    = 100 // messages that may be written before they are decided about
	crowdPatience = 5 * time.Minute
)

// stopwatch is a histogram that also keeps what it was told, in ms.
type stopwatch struct {
	prometheus.ObserverVec
	mu    sync.Mutex
	times []float64
}

// WithLabelValues implements prometheus.ObserverVec.
func (w *stopwatch) WithLabelValues(labels ...string) prometheus.Observer {
	return prometheus.ObserverFunc(func(seconds float64) { w.observe(w.ObserverVec.WithLabelValues(labels...), seconds) })
}

func (w *stopwatch) observe(in prometheus.Observer, seconds float64) {
	in.Observe(seconds)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times = append(w.times, 1000*seconds)
}

func (w *stopwatch) n() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.times)
}

// quantile q of what it was told, nearest rank.
func (w *stopwatch) quantile(q float64) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return quantile(w.times, q)
}

func quantile(times []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// crowd is a whole program with ten bots in a Discord where many write.
type crowd struct {
	b        *testing.B
	discord  *discordtest.Server
	people   []*discordtest.Human
	bots     []*discordtest.Bot
	channels []discordtest.Channel
	dir      string
	random   *rand.Rand

	program           *Program
	stop              func() error
	deciding, storing *stopwatch
}

func newCrowd(b *testing.B) *crowd {
	b.Helper()
	log.SetOutput(io.Discard) // of discordgo
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	c := &crowd{b: b, discord: s, dir: b.TempDir(), random: rand.New(rand.NewPCG(1, 2))}
	guild := s.AddGuild("pronto")
	for i := range crowdChannels {
		c.channels = append(c.channels, guild.AddChannel(fmt.Sprint("room-", i), discordtest.ChannelOptions{}))
	}
	for i := range crowdPeople {
		person := s.AddHuman(fmt.Sprint("person-", i))
		guild.Join(person.ID)
		c.people = append(c.people, person)
	}
	var agents, bindings, accounts []string
	for i := range crowdBots {
		bot := s.AddBot(fmt.Sprint("bot-", i), discordtest.BotOptions{})
		guild.Join(bot.ID)
		c.bots = append(c.bots, bot)
		agents = append(agents, fmt.Sprintf(`{ id: "agent%d", name: "에이전트%d" }`, i, i))
		bindings = append(bindings, fmt.Sprintf(`{ agentId: "agent%d", match: { channel: "discord", accountId: "a%d" } }`, i, i))
		accounts = append(accounts, fmt.Sprintf(`a%d: { token: %q, botUserId: %q }`, i, bot.Token, bot.ID))
	}
	text := fmt.Sprintf(crowdConfig, strings.Join(agents, ", "), strings.Join(bindings, ", "), strings.Join(accounts, ", "), c.channels[0].ID)
	for name, text := range map[string]string{settings.FileName: text, "script.json": crowdScript} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// begin runs the program until its bots are connected.
func (c *crowd) begin() {
	c.b.Helper()
	ready := make(chan net.Addr, 1)
	c.program = New(Options{
		StateDir: c.dir, DB: filepath.Join(c.dir, database.Name), API: "127.0.0.1:0", Gateway: settings.NoGateway, Rules: coordination.RulesV2,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), DiscordAPI: c.discord.URL(), Durability: sqlite.DurabilityFull,
		Ready: func(api, _ net.Addr) { ready <- api },
	})
	metrics := c.program.channelMetrics.discord
	c.deciding, c.storing = &stopwatch{ObserverVec: metrics.deciding}, &stopwatch{ObserverVec: metrics.storing}
	metrics.deciding, metrics.storing = c.deciding, c.storing
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	program := c.program
	go func() { ended <- program.Run(ctx) }()
	c.stop = func() error {
		cancel()
		return errors.Join(waitFor(c.b, "Run", ended), program.Close())
	}
	waitFor(c.b, "the program", ready)
	c.until("all bots to be connected", func() bool {
		up := 0
		for _, s := range c.program.agents.discord.bots.Status() {
			if s.State == health.BotReady {
				up++
			}
		}
		return up == crowdBots
	})
}

// end ends the program, and forgets it.
func (c *crowd) end() {
	c.b.Helper()
	if err := c.stop(); err != nil {
		c.b.Fatal(err)
	}
	c.program, c.stop = nil, nil
}

// until waits until something is so. It looks every few ms.
func (c *crowd) until(what string, so func() bool) {
	c.b.Helper()
	late := time.NewTimer(crowdPatience)
	defer late.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-late.C:
			c.b.Fatalf("waited %s for %s: %d decisions", crowdPatience, what, c.storing.n())
		}
	}
}

// heapRate is how many bytes are allocated from one that is noted to the next.
const heapRate = 16 << 10

// alive is about how many MB are alive in the heap, without what the Discord of the test and the stopwatches keep: all that was ever written, told to
// whom, and timed.
func alive() (mb float64) {
	runtime.GC()
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1_000)
	n, ok := runtime.MemProfile(records, false)
	for ; !ok; n, ok = runtime.MemProfile(records, false) {
		records = make([]runtime.MemProfileRecord, 2*n)
	}
	for i := range records[:n] {
		r := &records[i]
		if r.InUseObjects() == 0 || isTests(r.Stack()) {
			continue
		}
		mean := float64(r.InUseBytes()) / float64(r.InUseObjects())
		mb += float64(r.InUseBytes()) / (1 - math.Exp(-mean/heapRate)) / 1e6 // of so many one was noted
	}
	return mb
}

// isTests says whether the test has allocated something.
func isTests(stack []uintptr) bool {
	for frames := runtime.CallersFrames(stack); ; {
		f, more := frames.Next()
		for _, part := range []string{"/discordtest.", ".(*crowd).write", ".(*stopwatch)."} {
			if strings.Contains(f.Function, part) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}

// write has people write n messages, of which every fifth mentions an agent, with three bots losing their connections on the way.
func (c *crowd) write(n int) {
	c.b.Helper()
	for i := range n {
		text := fmt.Sprintf("메시지 %d: PR #%d 봤어요 https://github.com/pronto-lab/openclawd/pull/%d", i, i%300, i%300)
		if i%5 == 0 {
			text = c.bots[c.random.IntN(crowdBots)].Mention() + " " + text
		}
		if i%50 == 0 {
			text += " 말해"
		}
		if _, err := c.people[c.random.IntN(crowdPeople)].Post(c.channels[c.random.IntN(crowdChannels)].ID, text); err != nil {
			c.b.Fatal(err)
		}
		switch i {
		case n / 4:
			c.bots[1].Drop()
		case n / 2:
			c.bots[2].AskToReconnect()
		case 3 * n / 4:
			c.bots[3].Invalidate() // it has to read what it has missed
		}
		c.until("decisions", func() bool { return c.storing.n() >= i-crowdAhead })
	}
}

// again is how many bots are connected that have lost a connection.
func (c *crowd) again() (n int) {
	for _, s := range c.program.agents.discord.bots.Status() {
		if s.State == health.BotReady && s.Connections > 1 {
			n++
		}
	}
	return n
}

// written is how many messages stand in the channels.
func (c *crowd) written() (n int) {
	for _, ch := range c.channels {
		n += len(c.discord.Messages(ch.ID))
	}
	return n
}

// settled waits until all that was written is decided about, and nothing is left to do.
func (c *crowd) settled() {
	c.b.Helper()
	c.until("all to be done", func() bool {
		left := 0
		err := c.program.log.View(context.Background(), func(tx *sql.Tx) error {
			lanes, err := workqueue.Lanes(context.Background(), tx)
			for _, l := range lanes {
				left += l.Waiting + l.Leased
			}
			return err
		})
		if err != nil {
			c.b.Fatal(err)
		}
		return left == 0 && c.storing.n() >= c.written()
	})
}

// count is one number of the database.
func (c *crowd) count(query string) (n int) {
	c.b.Helper()
	err := c.program.log.View(context.Background(), func(tx *sql.Tx) error { return tx.QueryRow(query).Scan(&n) })
	if err != nil {
		c.b.Fatal(err)
	}
	return n
}

// BenchmarkDiscord has ten bots of a whole program hear messages over real sockets: every tenth dispatch comes twice, and three bots
// lose their connections. Each message is decided once. Times are of the decision alone (decision) and from the first bot's dispatch
// until the message was on disk (message), with synchronous=FULL and all projections inline. heap is the memory in use, before and
// after.
func BenchmarkDiscord(b *testing.B) {
	runtime.MemProfileRate = heapRate
	for _, n := range []int{1_000, 5_000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			for range b.N {
				c := newCrowd(b)
				random := rand.New(rand.NewPCG(3, 4))
				c.discord.InjectDispatch(discordtest.DispatchFault{Times: -1, Effect: discordtest.Duplicate, Match: discordtest.DispatchMatch{
					Type: "MESSAGE_CREATE", Test: func(discordtest.Dispatch) bool { return random.IntN(10) == 0 }}})
				c.begin()
				first := alive()
				began := time.Now()
				c.write(n)
				c.until("decisions", func() bool { return c.storing.n() >= n })
				took := time.Since(began)
				c.until("three bots to have connected again", func() bool { return c.again() == 3 })
				c.settled()
				written, decided := c.written(), c.count("SELECT count(*) FROM discord_messages")
				handled, ran := c.count("SELECT count(*) FROM discord_verdicts WHERE mode = 'handler'"), c.count("SELECT count(*) FROM runs")
				if decided != written || c.storing.n() != written || handled != ran || handled == 0 {
					b.Errorf("%d messages were written, %d are in the log, %d decisions were taken; %d were to be handled, %d runs were asked for", written, decided,
						c.storing.n(), handled, ran)
				}
				last := alive()
				c.end()
				for name, value := range map[string]float64{
					"decisions/message": float64(c.storing.n()) / float64(written), "messages/s": float64(n) / took.Seconds(),
					"decision-p50-ms": c.deciding.quantile(0.5), "decision-p99-ms": c.deciding.quantile(0.99),
					"message-p50-ms": c.storing.quantile(0.5), "message-p99-ms": c.storing.quantile(0.99),
					"heap-before-MB": first, "heap-after-MB": last,
				} {
					b.ReportMetric(value, name)
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
