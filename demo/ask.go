package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// errUnknown reports that the API does not know the thing yet, or at all.
var errUnknown = errors.New("not found")

// ask gets a path of the API and decodes its JSON.
func (s *stage) ask(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.api+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return fmt.Errorf("ask %s: %w", path, errUnknown)
	default:
		return fmt.Errorf("GET %s: unexpected response %s", path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	return nil
}

// routing is the recorded outcome of a message.
func (s *stage) routing(ctx context.Context, messageID string) (r *monitor.Routing, err error) {
	err = s.poll(ctx, "a routing decision for message "+messageID, func() (bool, error) {
		r = &monitor.Routing{}
		err := s.ask(ctx, "/api/routing/"+messageID, r)
		if errors.Is(err, errUnknown) {
			return false, nil
		}
		return err == nil, err
	})
	return r, err
}

// poll polls until a condition holds.
func (s *stage) poll(ctx context.Context, what string, so func() (bool, error)) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		switch is, err := so(); {
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case err != nil:
			return err
		case is:
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}
