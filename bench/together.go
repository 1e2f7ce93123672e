package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// together calls f for 0 to n-1 at once, and waits for all.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// spread calls f for from to from+n-1, a few at a time.
func spread(atATime, from, n int, f func(i int) error) error {
	return together(atATime, func(worker int) error {
		for i := from + worker; i < from+n; i += atATime {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// until calls done at an interval until it is true.
func until(ctx context.Context, every time.Duration, what string, done func() (bool, error)) error {
	const patience = 10 * time.Minute
	ctx, stop := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s has not happened within %s", what, patience))
	defer stop()
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// listen answers requests on an address of this machine, and runs a service beside, until stop is called.
func listen(ctx context.Context, handler http.Handler, service func(context.Context) error) (address string, stop func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- service(running) }()
	go func() {
		err := web.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		ended <- err
	}()
	return listener.Addr().String(), func() error {
		cancel()
		return errors.Join(web.Close(), <-ended, <-ended)
	}, nil
}

func noService(context.Context) error { return nil }
