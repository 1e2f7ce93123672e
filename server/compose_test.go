package server

import (
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/server/settings"
)

const dockerFiles = "../packaging/docker/"

// composed returns the environment that a compose file gives openclawd, with the values of .env in it.
func composed(t *testing.T, file string, env *strings.Replacer) (vars []string) {
	t.Helper()
	text, err := os.ReadFile(dockerFiles + file)
	if err != nil {
		t.Fatal(err)
	}
	_, service, found := strings.Cut(string(text), "\n  openclawd:\n")
	if !found {
		t.Fatalf("%s has no service openclawd", file)
	}
	for _, m := range regexp.MustCompile(`(?m)^      ([A-Z_]+): "(.*)"$`).FindAllStringSubmatch(service, -1) {
		vars = append(vars, m[1]+"="+env.Replace(regexp.MustCompile(`:\?[^}]*}`).ReplaceAllString(m[2], "}")))
	}
	return vars
}

// What compose.cluster.yaml starts is a node of a cluster, not one that keeps its log alone.
func TestComposeStartsANodeOfACluster(t *testing.T) {
	t.Parallel()
	env := strings.NewReplacer("${NATS_PASSWORD}", "secret", "${CLUSTER_TOKEN}", "this is known to all nodes", "${OPENCLAW_GATEWAY_TOKEN}", "gateway",
		"${TASK_MONITOR_WRITE_TOKEN}", "writes")
	vars := append(composed(t, "compose.yaml", env), composed(t, "compose.cluster.yaml", env)...)
	config, err := os.ReadFile(dockerFiles + "openclaw.cluster.json5")
	if err != nil {
		t.Fatal(err)
	}
	mounted, err := os.ReadFile(dockerFiles + "compose.cluster.yaml")
	if err != nil || !strings.Contains(string(mounted), "- ./openclaw.cluster.json5:/data/"+settings.FileName+":ro\n") {
		t.Errorf("compose.cluster.yaml does not mount the configuration: %v", err)
	}
	broker := natstest.Cluster(t, 3)
	for i, v := range vars {
		if address, is := strings.CutPrefix(v, "OPENCLAWD_LOG="); is {
			vars[i] = "OPENCLAWD_LOG=" + atHosts(t, address, broker)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, settings.FileName), config, 0o600); err != nil {
		t.Fatal(err)
	}
	ready := make(chan net.Addr, 1)
	program := New(Options{
		StateDir: dir, DB: filepath.Join(dir, database.Name), API: "127.0.0.1:0", Gateway: "127.0.0.1:0", Rules: coordination.RulesV2, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Ready: func(api, _ net.Addr) { ready <- api },
		Getenv: func(name string) string {
			for _, v := range vars {
				if value, is := strings.CutPrefix(v, name+"="); is {
					return value
				}
			}
			return ""
		},
	})
	ended, stop := runProgram(t, program)
	n := &clusterNode{name: "openclawd", api: "http://" + api(t, ready, ended)}
	eventually(t, "the node writes", func() bool {
		s, err := n.status(t.Context())
		return err == nil && s.Role == cluster.Writer && s.Node == n.name
	})
	stop()
	if err := errors.Join(waitFor(t, "Run", ended), program.Close()); err != nil {
		t.Fatal(err)
	}
}

// atHosts replaces the servers of a URL, and does not ask them whether they sync: servers of tests have no monitoring address.
func atHosts(t *testing.T, address string, broker *natstest.Servers) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Host != "nats1,nats2,nats3" || u.User.String() != "openclawd:secret" {
		t.Fatalf("%s: %v", address, err)
	}
	u.Host = strings.ReplaceAll(broker.URL(), "nats://", "")
	query := u.Query()
	query.Del("monitor")
	u.RawQuery = query.Encode()
	return u.String()
}
