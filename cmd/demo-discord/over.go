package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/monitor"
)

// over compares the state at the end of an act with the scene: the participants at the last message, and the state of
// the request.
func (p *play) over(ctx context.Context, a *act) error {
	if a.present == "" {
		return nil
	}
	r, err := p.routing(ctx, p.heard[len(p.heard)-1])
	if err != nil {
		return err
	}
	var list []string
	for _, a := range cast {
		if slices.ContainsFunc(r.ThreadParticipants, func(t monitor.RoutedParticipant) bool { return t.AgentID == a.id }) {
			list = append(list, a.name)
		}
	}
	status, err := p.request(ctx)
	if err != nil {
		return err
	}
	present := strings.Join(list, ", ")
	p.print("\n참여자  %s\n요청    루다 → 이든: %s\n", present, status)
	switch {
	case present != a.present:
		return fmt.Errorf("thread participants are %q, want %q", present, a.present)
	case status != response.StatusResponded:
		return fmt.Errorf("the request to 이든 is %s, want %s after its answer", status, response.StatusResponded)
	}
	return nil
}

// ended compares the final state with the scene: no further messages, and an agent that was never called has only
// observed.
func (p *play) ended(ctx context.Context) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	for _, in := range []string{inChannel, inThread} {
		if written := p.written(p.place(in)); len(written) > p.told[in] {
			more := &written[p.told[in]]
			return fmt.Errorf("unexpected further message in %s by %s: %q", in, more.Author.Username, p.names.Replace(more.Content))
		}
	}
	var answer struct{ Threads []monitor.ThreadAnswer }
	if err := p.ask(ctx, "/api/discord/threads", &answer); err != nil {
		return err
	}
	if len(answer.Threads) != 1 || answer.Threads[0].Name != threadName {
		return fmt.Errorf("threads are %+v, want one named %q", answer.Threads, threadName)
	}
	return p.onlyObserved(ctx, stranger)
}

// settled waits until the runs caused by the messages have ended and their answers are posted.
func (p *play) settled(ctx context.Context) error {
	for _, id := range p.heard {
		err := p.until(ctx, "the runs of message "+id+" to end", func() (bool, error) {
			r, err := p.routing(ctx, id)
			if err != nil {
				return false, err
			}
			return !slices.ContainsFunc(r.Agents, func(a monitor.RoutedAgent) bool {
				return a.Mode == route.Handler && (a.Run == nil || a.Run.EndedAt == nil || a.Unposted != nil)
			}), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// request is the state of the only request.
func (p *play) request(ctx context.Context) (response.Status, error) {
	var answer struct{ Collaborations []monitor.CollaborationAnswer }
	if err := p.ask(ctx, "/api/collaborations", &answer); err != nil {
		return "", err
	}
	if n := len(answer.Collaborations); n != 1 {
		return "", fmt.Errorf("there are %d requests, want 1", n)
	}
	return answer.Collaborations[0].Status, nil
}

// onlyObserved checks that an agent handled nothing and observed every message of the thread.
func (p *play) onlyObserved(ctx context.Context, agent string) error {
	observed := 0
	for _, id := range p.heard {
		r, err := p.routing(ctx, id)
		if err != nil {
			return err
		}
		for i := range r.Agents {
			switch v := &r.Agents[i]; {
			case v.AgentID != agent:
			case v.Mode != route.Observer:
				return fmt.Errorf("%q is %s for %s, which never took part, want %s", r.Message.Text, v.Mode, agent, route.Observer)
			case r.Message.ThreadID != "":
				observed++
			}
		}
	}
	if n := p.told[inThread]; observed != n {
		return fmt.Errorf("%s observed %d messages of the thread, want all %d", agent, observed, n)
	}
	return nil
}
