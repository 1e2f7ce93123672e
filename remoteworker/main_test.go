package remoteworker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/remoteworker"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A process of this binary in whose environment one of these is serves, or works, in a state directory, and runs no tests.
const (
	envServe   = "OPENCLAWD_TEST_SERVE"
	envWork    = "OPENCLAWD_TEST_WORK"
	envGateway = "OPENCLAWD_TEST_GATEWAY" // address to serve at, or URL to connect to
	envToken   = "OPENCLAWD_TEST_TOKEN"
	envName    = "OPENCLAWD_TEST_NAME"
	envLabels  = "OPENCLAWD_TEST_LABELS"
	envSlots   = "OPENCLAWD_TEST_SLOTS"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if dir, is := os.LookupEnv(envServe); is {
		os.Exit(said(serve(dir)))
	}
	if dir, is := os.LookupEnv(envWork); is {
		os.Exit(said(work(dir)))
	}
	os.Exit(m.Run())
}

func said(err error) (code int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		return 1
	}
	return 0
}

// untilTold ends with the standard input, also when the test is killed, and with SIGTERM.
func untilTold() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return ctx, stop
}

func serve(dir string) error {
	ctx, stop := untilTold()
	defer stop()
	p := server.New(server.Options{StateDir: dir, DB: filepath.Join(dir, database.Name), API: "127.0.0.1:0", Gateway: os.Getenv(envGateway), Rules: coordination.RulesV2,
		Now: time.Now, NoUI: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Ready: func(_, gateway net.Addr) { fmt.Println("ws://" + gateway.String()) }})
	return errors.Join(p.Run(ctx), p.Close())
}

func work(dir string) error {
	ctx, stop := untilTold()
	defer stop()
	conf, findings := config.Load(settings.File(dir), func(string) string { return "" })
	if err := findings.Err(); err != nil {
		return err
	}
	slots, err := strconv.Atoi(os.Getenv(envSlots))
	if err != nil {
		return err
	}
	o := remoteworker.Options{URL: os.Getenv(envGateway), Token: config.Secret(os.Getenv(envToken)), Drain: time.Second,
		Worker: remote.Registration{Protocol: remote.Protocol, Name: os.Getenv(envName), Labels: strings.Fields(os.Getenv(envLabels)), Slots: slots}}
	m := remoteworker.Machine{Config: conf, StateDir: dir, Getenv: func(string) string { return "" }, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	release, err := m.Equip(&o)
	if err != nil {
		return err
	}
	defer release()
	return remoteworker.Run(ctx, o)
}
