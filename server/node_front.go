package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// front keeps a listener open while the programs of a node take turns behind it. Connections wait for the program whose
// turn it is; between two turns, otherwise answers them.
type front struct {
	listener net.Listener
	between  *turn
	server   *http.Server // of between
	going    sync.WaitGroup

	mu  sync.Mutex
	now *turn
}

// newFront takes over a listener.
func newFront(listener net.Listener, otherwise http.Handler) *front {
	f := &front{listener: listener, server: &http.Server{Handler: otherwise, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeaderBytes}}
	f.server.SetKeepAlivesEnabled(false) // the next request is for the program that comes
	f.between = newTurn(f)
	f.now = f.between
	f.going.Go(func() { _ = f.server.Serve(f.between) }) // ends with close
	f.going.Go(f.accept)
	return f
}

func (f *front) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		for !f.current().takes(conn) { // its turn ended meanwhile
			if f.current() == f.between && f.between.over() {
				_ = conn.Close()
				return
			}
		}
	}
}

func (f *front) current() *turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// begin starts the turn of a program, which ends when the listener that it gets is closed.
func (f *front) begin() net.Listener {
	t := newTurn(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t
	return t
}

func (f *front) end(t *turn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == t {
		f.now = f.between
	}
}

// close ends everything.
func (f *front) close() error {
	err := f.listener.Close()
	_ = f.between.Close()
	_ = f.server.Close()
	f.going.Wait()
	return err
}

// turn is a listener whose connections come from a front.
type turn struct {
	front *front
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newTurn(f *front) *turn {
	return &turn{front: f, conns: make(chan net.Conn), ended: make(chan struct{})}
}

// takes reports whether the program of the turn took a connection.
func (t *turn) takes(conn net.Conn) bool {
	select {
	case t.conns <- conn:
		return true
	case <-t.ended:
		return false
	}
}

func (t *turn) over() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// Accept implements net.Listener.
func (t *turn) Accept() (net.Conn, error) {
	select {
	case conn := <-t.conns:
		return conn, nil
	case <-t.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The front stays open.
func (t *turn) Close() error {
	t.once.Do(func() {
		close(t.ended)
		t.front.end(t)
	})
	return nil
}

// Addr implements net.Listener.
func (t *turn) Addr() net.Addr { return t.front.listener.Addr() }
