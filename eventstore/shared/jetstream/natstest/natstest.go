// Package natstest runs NATS servers in the process of a test.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Servers are one server, or the nodes of a cluster.
type Servers struct {
	Nodes []*server.Server
	Dirs  []string // where each keeps its data
}

// One starts a server with JetStream that syncs each message, for as long as t runs.
func One(t testing.TB) *Servers {
	t.Helper()
	return start(t, 1)
}

// Cluster starts a cluster of n of them.
func Cluster(t testing.TB, n int) *Servers {
	t.Helper()
	return start(t, n)
}

// ready is how long servers may take to begin. Only a broken one uses it up.
const ready = time.Minute

func start(t testing.TB, n int) *Servers {
	t.Helper()
	s := &Servers{}
	base := t.TempDir() // removed after Stop
	t.Cleanup(s.Stop)
	routes := make([]*url.URL, n)
	ports := freePorts(t, n)
	for i := range n {
		routes[i] = &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[i]))}
	}
	for i := range n {
		opts := &server.Options{ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(base, fmt.Sprint(i)),
			SyncAlways: true, NoSigs: true, NoLog: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 4 << 30}
		if n > 1 {
			opts.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}
			opts.Routes = routes
		}
		node, err := server.NewServer(opts)
		if err != nil {
			t.Fatal(err)
		}
		go node.Start()
		s.Nodes, s.Dirs = append(s.Nodes, node), append(s.Dirs, opts.StoreDir)
	}
	for _, node := range s.Nodes {
		if !node.ReadyForConnections(ready) {
			t.Fatal("a NATS server does not begin")
		}
	}
	s.await(t)
	return s
}

// await waits until the cluster can create streams.
func (s *Servers) await(t testing.TB) {
	t.Helper()
	if len(s.Nodes) == 1 {
		return
	}
	deadline, tick := time.After(ready), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		for _, node := range s.Nodes {
			if node.JetStreamIsLeader() && len(node.JetStreamClusterPeers()) == len(s.Nodes) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the NATS servers do not choose a leader")
		}
	}
}

// Stop ends the servers. What they have stored stays.
func (s *Servers) Stop() {
	for _, node := range s.Nodes {
		node.Shutdown()
		node.WaitForShutdown()
	}
}

// URL is where clients connect to: all servers.
func (s *Servers) URL() string {
	urls := make([]string, len(s.Nodes))
	for i, node := range s.Nodes {
		urls[i] = node.ClientURL()
	}
	return strings.Join(urls, ",")
}

// OfRaftLog reports whether a file of a server belongs to the Raft log of a stream or of the cluster.
func OfRaftLog(path string) bool {
	return strings.Contains(filepath.ToSlash(path), "/$SYS/_js_/")
}

// Address is that of the first server.
func (s *Servers) Address() string { return s.Nodes[0].Addr().String() }

// freePorts returns ports that nothing listens on.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports
}
