package backend_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, kind, name, shown string }{
		{"nats://broker/team", backend.JetStream, "team", "nats://broker:4222/team"},
		{"nats://ann:s3cret@a:1,b:2,c:3/team?replicas=3", backend.JetStream, "team", "nats://a:1,nats://b:2,nats://c:3/team"},
		{"tls://t0ken@[::1]:4443/x-1?ca=/etc/ca.pem", backend.JetStream, "x-1", "tls://[::1]:4443/x-1"},
		{"nats://ann:s%2F3%40@a/team", backend.JetStream, "team", "nats://a:4222/team"},
		{"postgres://ann:s3cret@db/team", backend.Postgres, "openclawd", "postgres://db/team schema openclawd"},
		{"postgresql://ann:s3cret@a:1,b:2/team?schema=x_1&sslmode=disable", backend.Postgres, "x_1", "postgresql://a:1,b:2/team schema x_1"},
	} {
		a, err := backend.Parse("cluster.log", test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if a.Kind != test.kind || a.Name != test.name || a.String() != test.shown {
			t.Errorf("%s: %s %q %q", test.url, a.Kind, a.Name, a)
		}
	}
}

func TestAddressesThatAreWrongNameFieldAndFix(t *testing.T) {
	t.Parallel()
	for url, fix := range map[string]string{
		"":                                       "nats://HOST",
		"ann:s3cret@broker/team":                 "nats://HOST",
		"kafka://ann:s3cret@broker/team":         "nats://HOST",
		"nats://ann:s3cret@broker":               "name of the stream",
		"nats://ann:s3cret@broker/a.b":           "name of the stream",
		"nats://ann:s3cret@broker:99999/t":       "HOST:PORT",
		"nats://ann:s3,cret@broker/t":            "HOST:PORT",
		"nats://ann:s3cret@a,bob:s3cret@b/t":     "one user",
		"nats://ann:s3cret%zz@a/t":               "%XX",
		"nats://ann:s3cret@a/t?replica=3":        "replicas",
		"nats://ann:s3cret@a/t?replicas=many":    "1, 3 or 5",
		"nats://ann:s3cret@a/t?cert=x":           "together",
		"nats://ann:s3cret@a/t?monitor=a:8222":   "http://HOST:8222",
		"postgres://ann:s3cret@a/t?schema=Ann":   "lower case",
		"postgres://ann:s3/cret@a:port/t":        "%XX",
		"postgres://ann:s3cret@a/t?sslmode=some": "postgres://USER@HOST",
	} {
		_, err := backend.Parse("cluster.log", url)
		var invalid *eventstore.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "cluster.log" || !strings.Contains(err.Error(), fix) {
			t.Errorf("%s: %v, want %q", url, err, fix)
		}
		if err != nil && (strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "ann")) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

func TestOpensAndCreatesAStream(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	log, err := backend.Open(t.Context(), "nats://"+servers.Address()+"/team", backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if head, err := log.Head(t.Context()); err != nil || head != (shared.Head{}) {
		t.Errorf("head %+v, %v", head, err)
	}
	if !strings.Contains(log.Doubt, "?monitor=") {
		t.Errorf("doubt %q", log.Doubt)
	}
	_, err = backend.Open(t.Context(), "nats://"+servers.Address()+"/three?replicas=3", backend.Options{Field: "--to"})
	var refused *shared.RefusedError
	if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "--to nats://") || !strings.Contains(refused.Hint(), "replicas=1") {
		t.Errorf("three replicas on one server: %v", err)
	}
}

func TestServersThatDoNotSyncAreRefused(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	says := func(text string) string {
		monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		t.Cleanup(monitor.Close)
		return "nats://" + servers.Address() + "/team?monitor=" + monitor.URL
	}
	lazy := says(`{"config":{"sync_interval":120000000000}}`)
	_, err := backend.Open(t.Context(), lazy, backend.Options{})
	var unsafe *shared.UnsafeError
	if !errors.As(err, &unsafe) || !strings.Contains(err.Error(), "sync_interval 2m0s") || !strings.Contains(unsafe.Hint(), "always") {
		t.Errorf("servers that sync every two minutes: %v", err)
	}
	for url, relaxed := range map[string]bool{lazy: true, says(`{"config":{"sync_always":true}}`): false} {
		log, err := backend.Open(t.Context(), url, backend.Options{Relaxed: relaxed})
		if err != nil {
			t.Fatal(err)
		}
		if log.Doubt != "" {
			t.Errorf("doubt %q", log.Doubt)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}
