package sharedtest

import (
	"net"
	"sync"
	"testing"
)

// Proxy is the way of one client to a server. It can be cut, and it can lose answers.
type Proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	conns map[net.Conn]bool
	mute  bool // answers are lost
	down  bool // nothing gets through
}

// NewProxy returns a way to the server at an address, for as long as t runs.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, to: to, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() { p.serve(&serving) })
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
		serving.Wait()
	})
	return p
}

// Address is where the client connects to.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// LoseAnswers lets what the client sends arrive, and nothing come back.
func (p *Proxy) LoseAnswers() { p.set(true, false) }

// Cut ends all connections, and lets none begin.
func (p *Proxy) Cut() {
	p.set(false, true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Restore ends the connections that lost answers, and lets others begin.
func (p *Proxy) Restore() {
	p.Cut()
	p.set(false, false)
}

func (p *Proxy) set(mute, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute, p.down = mute, down
}

func (p *Proxy) serve(serving *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			continue
		}
		serving.Go(func() { p.forward(server, client, false) })
		serving.Go(func() { p.forward(client, server, true) })
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.down {
			_ = conn.Close()
		}
		p.conns[conn] = !p.down
	}
	return !p.down
}

// forward copies until one side ends, then ends both.
func (p *Proxy) forward(to, from net.Conn, answers bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !(answers && p.muted()) {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, to)
	delete(p.conns, from)
}

func (p *Proxy) muted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mute
}
