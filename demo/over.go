package demo

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
	present := strings.Join(list, ", ")
	if present != a.present {
		return fmt.Errorf("thread participants are %q, want %q", present, a.present)
	}
	err = p.poll(ctx, fmt.Sprintf("the request to %s to be %s", a.target, a.status), func() (bool, error) {
		status, err := p.request(ctx, a.target)
		return status == a.status, err
	})
	p.print("\n참여자  %s\n요청    루다 → %s: %s\n", present, a.target, a.status)
	return err
}

// ended compares the final state with the scene: no further messages, and an agent that was never called has only
// observed.
func (p *play) ended(ctx context.Context) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	for _, in := range []string{inChannel, inThread, inSecond} {
		if written := p.written(in); len(written) > p.told[in] {
			more := &written[p.told[in]]
			return fmt.Errorf("unexpected further message in %s by %s: %q", in, more.author, more.text)
		}
	}
	if names := p.threads(); !slices.Equal(names, threadNames) {
		return fmt.Errorf("threads are %q, want %q", names, threadNames)
	}
	return p.onlyObserved(ctx, stranger)
}

// settled waits until the runs caused by the messages have ended and their answers are posted.
func (p *play) settled(ctx context.Context) error {
	for _, id := range p.heard {
		err := p.poll(ctx, "the runs of message "+id+" to end", func() (bool, error) {
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

// request is the state of the request to an agent, by its name.
func (p *play) request(ctx context.Context, target string) (response.Status, error) {
	var answer struct{ Collaborations []monitor.CollaborationAnswer }
	if err := p.ask(ctx, "/api/collaborations", &answer); err != nil {
		return "", err
	}
	var found []response.Status
	for _, c := range answer.Collaborations {
		if slices.ContainsFunc(cast[:], func(a actor) bool { return a.id == c.ToAgent && a.name == target }) {
			found = append(found, c.Status)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("there are %d requests to %s, want 1", len(found), target)
	}
	return found[0], nil
}

// onlyObserved checks that an agent handled nothing in the first thread and observed every message of it.
func (p *play) onlyObserved(ctx context.Context, agent string) error {
	observed := 0
	for _, m := range p.written(inThread) {
		r, err := p.routing(ctx, m.id)
		if err != nil {
			return err
		}
		for i := range r.Agents {
			switch v := &r.Agents[i]; {
			case v.AgentID != agent:
			case v.Mode != route.Observer:
				return fmt.Errorf("%q is %s for %s, which never took part, want %s", r.Message.Text, v.Mode, agent, route.Observer)
			default:
				observed++
			}
		}
	}
	if n := p.told[inThread]; observed != n {
		return fmt.Errorf("%s observed %d messages of the thread, want all %d", agent, observed, n)
	}
	return nil
}
