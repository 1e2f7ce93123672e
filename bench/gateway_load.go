package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gorilla/websocket"
)

// asker is a connection with several requests in flight. It does not decode answers, so that the gateway is measured
// and not the client.
type asker struct {
	conn   *websocket.Conn
	method string
	asked  int
	answer bytes.Buffer
}

// askRate calls a method n times and returns the answers per second.
func askRate(ctx context.Context, url, method string, n int) (rate float64, err error) {
	var askers []*asker
	defer func() {
		for _, a := range askers {
			_ = a.conn.Close()
		}
	}()
	for range gatewayConnections {
		a, err := newAsker(ctx, url, method)
		if err != nil {
			return 0, err
		}
		askers = append(askers, a)
		if err := a.ask(n/gatewayConnections/10, gatewayInFlight/gatewayConnections); err != nil { // warms up
			return 0, err
		}
	}
	took, err := seconds(func() error {
		return together(len(askers), func(i int) error { return askers[i].ask(n/len(askers), gatewayInFlight/len(askers)) })
	})
	return float64(n) / took, err
}

func newAsker(ctx context.Context, url, method string) (*asker, error) {
	conn, answer, err := websocket.DefaultDialer.DialContext(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	a := &asker{conn: conn, method: method}
	connect := `{"type":"req","id":"connect","method":"connect","params":{"minProtocol":3,"maxProtocol":4,"role":"operator","scopes":["operator.admin"],` +
		`"client":{"id":"gateway-client","mode":"backend","version":"bench","platform":"bench"},"auth":{"token":"` + gatewayToken + `"}}}`
	if err := errors.Join(conn.WriteMessage(websocket.TextMessage, []byte(connect)), a.await()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return a, nil
}

func (a *asker) ask(n, inFlight int) error {
	for range min(n, inFlight) {
		if err := a.request(); err != nil {
			return err
		}
	}
	for i := range n {
		if err := a.await(); err != nil {
			return err
		}
		if i+inFlight < n {
			if err := a.request(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *asker) request() error {
	a.asked++
	return a.conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"type":"req","id":"%d","method":%q}`, a.asked, a.method))
}

// await reads up to the next answer, which must be successful. The head of a frame is what comes before its payload.
func (a *asker) await() error {
	for {
		_, message, err := a.conn.NextReader()
		if err != nil {
			return err
		}
		a.answer.Reset()
		if _, err := io.Copy(&a.answer, message); err != nil {
			return err
		}
		head, _, _ := bytes.Cut(a.answer.Bytes(), []byte(`"payload":`))
		switch {
		case !bytes.Contains(head, []byte(`"type":"res"`)):
		case !bytes.Contains(head, []byte(`"ok":true`)):
			return fmt.Errorf("the gateway answered %s", a.answer.Bytes())
		default:
			return nil
		}
	}
}
