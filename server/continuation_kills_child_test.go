package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// envKeepGoing is a state directory: a process of this binary in whose environment it is serves it, and runs no tests. What it reads, line by
// line, is how far ahead of the machine's its clock is to be from then on.
const envKeepGoing = "OPENCLAWD_TEST_KEEP_GOING"

// keepGoingUntilKilled serves as serveByOrders does, and tells of each event that keeps agents going and each of a run.
func keepGoingUntilKilled(dir string) (code int) {
	return serveByOrders(Options{StateDir: dir}, func(typ string) bool {
		_, opens := windowOf(typ)
		return opens
	})
}

// serveByOrders says on standard output where its gateway and its API are, and then, of each event that is to be told, the type, as soon as it is stored. It
// ends with its standard input, also when the test is killed.
func serveByOrders(opts Options, told func(typ string) bool, change ...func(*Program)) (code int) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orders := &clockOrders{lines: bufio.NewScanner(os.Stdin)}
	if !orders.next() {
		return 0
	}
	opts.DB, opts.API, opts.Gateway, opts.Rules, opts.Now = filepath.Join(opts.StateDir, database.Name), "127.0.0.1:0", "127.0.0.1:0", coordination.RulesV2, orders.clock.Now
	opts.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	p := New(opts)
	for _, c := range change {
		c(p)
	}
	p.opts.Ready = func(api, gateway net.Addr) {
		fmt.Println(gatewayURL(gateway), api)
		go tellWhatIsStored(ctx, p, told)
		go func() {
			defer stop()
			for orders.next() {
				if err := obey(ctx, p, orders); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		}()
	}
	if err := errors.Join(p.Run(ctx), p.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// emptyCaches is the order to drop all rows that projections hold in memory. It is answered by the same word once they are dropped.
const emptyCaches = "empty"

// obey does what the newest order is for.
func obey(ctx context.Context, p *Program, o *clockOrders) error {
	if o.lines.Text() != emptyCaches {
		return wakeAll(ctx, p.log)
	}
	defer fmt.Println(emptyCaches)
	return p.engine.Rebuild(ctx, projections.RebuildOptions{Live: true})
}

// clockOrders are what a clock is set by.
type clockOrders struct {
	lines *bufio.Scanner
	clock a2atest.Clock
	ahead time.Duration
}

// next sets the clock as the next order says; false: there is none any more.
func (o *clockOrders) next() bool {
	if !o.lines.Scan() {
		return false
	}
	if o.lines.Text() == emptyCaches {
		return true
	}
	ahead, err := time.ParseDuration(o.lines.Text())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return false
	}
	o.clock.Forward(ahead - o.ahead)
	o.ahead = ahead
	return true
}

// appender is what can be added to.
type appender interface {
	Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error)
}

// wakeAll has all that wait for a time check the clock.
func wakeAll(ctx context.Context, log appender) error {
	_, err := log.Append(ctx, eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(`{"eventRole":"system.observability"}`)}}})
	return err
}

// tellWhatIsStored tells of events as serveByOrders promises.
func tellWhatIsStored(ctx context.Context, p *Program, told func(typ string) bool) {
	head, err := p.log.Head(ctx)
	for seq := head.Seq; err == nil; {
		var events []eventstore.Event
		if events, err = p.log.Read(ctx, seq, 1_000); err != nil {
			return
		}
		for i := range events {
			seq = events[i].Seq
			if told(events[i].Type) {
				fmt.Println(events[i].Type)
			}
		}
		if len(events) == 0 {
			_, err = p.log.Wait(ctx, seq+1)
		}
	}
}

// goingServer is a server that is given orders, as a process of its own.
type goingServer struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	said   func(s *goingServer, line string) // is called for each line that it says, after the first; it must not wait for kill
	url    chan string                       // of its gateway; closed without one if it ends before it has one
	api    string                            // host and port of its API, once url has come
	read   chan struct{}                     // closed when all that it has said was read
	stderr bytes.Buffer
	dead   sync.Once
}

// startGoing begins one that keeps agents going, and whose clock is that far ahead.
func startGoing(t *testing.T, dir string, ahead time.Duration, said func(s *goingServer, line string)) *goingServer {
	t.Helper()
	return startByOrders(t, ahead, said, envKeepGoing+"="+dir)
}

// startByOrders begins one with an environment, whose clock is that far ahead.
func startByOrders(t *testing.T, ahead time.Duration, said func(s *goingServer, line string), env ...string) *goingServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &goingServer{cmd: exec.Command(self), said: said, url: make(chan string, 1), read: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = &s.stderr
	stdout, out := s.cmd.StdoutPipe()
	orders, in := s.cmd.StdinPipe()
	if err := errors.Join(out, in, s.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	s.orders = orders
	go s.listen(stdout)
	t.Cleanup(s.kill)
	s.order(ahead)
	return s
}

func (s *goingServer) listen(out io.Reader) {
	defer close(s.read)
	defer close(s.url)
	lines := bufio.NewScanner(out)
	if lines.Scan() {
		var url string
		url, s.api, _ = strings.Cut(strings.TrimSpace(lines.Text()), " ")
		s.url <- url
	}
	for lines.Scan() {
		s.said(s, lines.Text())
	}
}

// order sets its clock, if it is still there.
func (s *goingServer) order(ahead time.Duration) { _, _ = fmt.Fprintln(s.orders, ahead) }

// kill is kill -9. When it returns, also from a second call, the process is gone.
func (s *goingServer) kill() {
	s.dead.Do(func() {
		_ = s.cmd.Process.Kill()
		<-s.read
		_ = s.cmd.Wait()
	})
}
