package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// withBroker runs a NATS server that syncs each message to the disk of this run.
func (b *bench) withBroker(do func(address string) error) error {
	dir, err := b.newDir("broker")
	if err != nil {
		return err
	}
	broker, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: dir, SyncAlways: true,
		NoSigs: true, NoLog: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 8 << 30})
	if err != nil {
		return err
	}
	go broker.Start()
	defer func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	}()
	if !broker.ReadyForConnections(time.Minute) {
		return errors.New("the broker does not begin")
	}
	return do(broker.Addr().String())
}

// rawStream is a stream without us.
type rawStream struct {
	conn    *nats.Conn
	subject string
}

// withRaw calls do with an empty stream that is configured as ours.
func withRaw(ctx context.Context, address, name string, do func(*rawStream) error) error {
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	s := &rawStream{conn, name + ".raw"}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{s.subject}, Storage: jetstream.FileStorage}); err != nil {
		return err
	}
	return errors.Join(do(s), js.DeleteStream(ctx, name))
}

// publish stores messages of a size by n clients at once, each one after the other, and returns the rate and all
// latencies in ms. One client names the sequence that it expects, as a log needs it.
func (s *rawStream) publish(ctx context.Context, n, each, size int) (rate float64, times []float64, err error) {
	body := make([]byte, size)
	all := make([][]float64, n)
	start := time.Now()
	err = together(n, func(i int) error {
		for k := range each {
			m := &nats.Msg{Subject: s.subject, Data: body, Header: nats.Header{}}
			if n == 1 {
				m.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.Itoa(k))
			}
			t := time.Now()
			answer, err := s.conn.RequestMsgWithContext(ctx, m)
			if err != nil {
				return err
			}
			if len(answer.Data) > 0 && answer.Header.Get("Status") != "" {
				return errors.New(string(answer.Data))
			}
			all[i] = append(all[i], milliseconds(time.Since(t)))
		}
		return nil
	})
	for _, mine := range all {
		times = append(times, mine...)
	}
	return float64(n*each) / time.Since(start).Seconds(), times, err
}
