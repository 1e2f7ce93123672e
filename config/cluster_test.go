package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

// The settings of a cluster say where its log is, and what is wrong with them, without a secret.
func TestCluster(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	whole := config.Cluster{Log: "nats://ann:s3cret@a:4222,b/team", Node: "node-a.1", Advertise: config.Advertise{Gateway: "ws://node-a:18789", API: "https://node-a:3847"},
		Reader: true, Lease: 7 * time.Second, Durability: config.ClusterRelaxed, Token: token}
	usual := config.Cluster{Log: "postgres://ann:s3cret@db/team", Lease: 5 * time.Second, Durability: config.ClusterStrict, Token: token}
	for name, c := range map[string]struct {
		text  string
		want  config.Cluster
		found []string // severity, setting and message of the findings
	}{
		"none": {`{}`, config.Cluster{}, nil},
		"whole": {`{cluster: {log: 'nats://ann:s3cret@a:4222,b/team', node: 'node-a.1', advertise: {gateway: 'ws://node-a:18789', api: 'https://node-a:3847'},
			role: 'reader', leaseSeconds: 7, durability: 'relaxed', token: '` + token + `'}}`, whole, nil},
		"usual": {`{cluster: {log: 'postgres://ann:s3cret@db/team', token: '` + token + `'}}`, usual, nil},
		"empty": {`{cluster: {}}`, config.Cluster{},
			[]string{"error cluster.log this is required", "error cluster.token this is required"}},
		"wrong": {`{cluster: {log: 'redis://ann:s3cret@db', node: 'a b', advertise: {gateway: 'http://a:1', api: 'ftp://a'}, role: 'boss', leaseSeconds: 0, durability: 'full', token: 'short'}}`,
			config.Cluster{}, []string{
				"error cluster.log *** is not the URL of a shared log", `error cluster.node "a b" is no name of a node`,
				`error cluster.advertise.gateway "http://a:1" is not the address of a node`, `error cluster.advertise.api "ftp://a" is not the address of a node`,
				`error cluster.role "boss" is not an allowed value`, "error cluster.leaseSeconds 0 is not a whole number from 1 to 300",
				`error cluster.durability "full" is not an allowed value`, "error cluster.token *** is shorter than 16 characters"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "openclaw.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, findings := config.Load(path, func(string) string { return "" })
			var found []string
			for _, f := range findings {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Path, " ", f.Message))
				if said := fmt.Sprint(f); strings.Contains(said, "s3cret") || strings.Contains(said, token) {
					t.Errorf("a secret is shown: %v", f)
				}
			}
			if diff := cmp.Diff(c.found, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, loaded.Cluster); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if masked := string(loaded.Masked()); strings.Contains(masked, "s3cret") || strings.Contains(masked, token) {
				t.Errorf("a secret is shown: %s", masked)
			}
		})
	}
}
