package natstest_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// The configuration of the servers in compose.cluster.yaml is one: they store in the volume, sync, and take a password of
// hexadecimal digits as it is, also one that begins like a number.
func TestComposeConfiguresServers(t *testing.T) {
	for _, password := range []string{"5f0c2a", "12e34567", "64mb5f", "secret"} {
		t.Setenv("NATS_NAME", "nats2")
		t.Setenv("NATS_PASSWORD", password)
		opts, err := server.ProcessConfigFile("../../../../packaging/docker/nats.conf")
		if err != nil {
			t.Errorf("%s: %v", password, err)
			continue
		}
		if opts.ServerName != "nats2" || opts.StoreDir != "/data" || !opts.JetStream || !opts.SyncAlways || opts.HTTPPort != 8222 || len(opts.Routes) != 3 ||
			opts.Username != "openclawd" || opts.Password != password {
			t.Errorf("%s: got name %q, directory %q, sync %v, password %q", password, opts.ServerName, opts.StoreDir, opts.SyncAlways, opts.Password)
		}
	}
}
