package demo

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/monitor"
)

// play runs the scene on a stage.
type play struct {
	*stage
	out   io.Writer
	scene []act
	heard []string       // message ids, in the order of the scene
	told  map[string]int // number of messages read in each place
}

// perform plays all acts, compares the outcome with the scene, and shows the thread at the end.
func (p *play) perform(ctx context.Context) error {
	p.told = map[string]int{}
	p.print("협업 스레드는 멘션 없이도 동작한다 (Agent Collaboration v2, 3.5)\n\n")
	for i, a := range p.scene {
		p.print("%d. %s\n\n", i+1, a.title)
		if a.later > 0 {
			if err := p.settled(ctx); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
			p.later(a.later)
		}
		for _, l := range a.lines {
			if err := p.line(ctx, &l); err != nil {
				return fmt.Errorf("act %d: %w", i+1, err)
			}
		}
		if err := p.over(ctx, &a); err != nil {
			return fmt.Errorf("act %d: %w", i+1, err)
		}
		p.print("\n")
	}
	if err := p.ended(ctx); err != nil {
		return err
	}
	p.transcript()
	return nil
}

// line writes a message, or waits for it, and compares it and its routing decision with the scene.
func (p *play) line(ctx context.Context, l *line) error {
	if l.who == human {
		if err := p.say(l.in, l.text); err != nil {
			return fmt.Errorf("post as %s in %s: %w", l.who, l.in, err)
		}
	}
	m, err := p.next(ctx, l)
	if err != nil {
		return err
	}
	p.told[l.in]++
	p.heard = append(p.heard, m.id)
	p.printMessage(l.in, &m)
	if m.author != l.who || m.text != l.text {
		return fmt.Errorf("in %s %s wrote %q, want %s: %q", l.in, m.author, m.text, l.who, l.text)
	}
	r, err := p.routing(ctx, m.id)
	if err != nil {
		return err
	}
	got := verdicts(r)
	p.explain(got)
	if got != l.verdict {
		return fmt.Errorf("the decision for %q is %q, want %q", l.text, got, l.verdict)
	}
	return nil
}

// next is the next message in the place of a line.
func (p *play) next(ctx context.Context, l *line) (m message, err error) {
	err = p.until(ctx, func() bool {
		written := p.written(l.in)
		if len(written) <= p.told[l.in] {
			return false
		}
		m = written[p.told[l.in]]
		return true
	})
	if err != nil {
		return m, fmt.Errorf("wait for %s to write %q in %s: %w", l.who, l.text, l.in, context.Cause(ctx))
	}
	return m, nil
}

// verdicts lists the agents by the verdict they got for a message: "처리 루다 (mentioned) · 관찰 이든, 세움 (other_mentioned)". Its author is left
// out.
func verdicts(r *monitor.Routing) string {
	var parts []string
	for _, mode := range []struct {
		mode route.Mode
		word string
	}{{route.Handler, "처리"}, {route.Observer, "관찰"}, {route.Dropped, "제외"}} {
		agents := map[route.Reason][]string{}
		var reasons []route.Reason
		for _, a := range cast {
			for i := range r.Agents {
				v := &r.Agents[i]
				if v.AgentID != a.id || v.Mode != mode.mode || v.Reason == route.OwnMessage {
					continue
				}
				if agents[v.Reason] == nil {
					reasons = append(reasons, v.Reason)
				}
				agents[v.Reason] = append(agents[v.Reason], a.name)
			}
		}
		for _, reason := range reasons {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", mode.word, strings.Join(agents[reason], ", "), reason))
		}
	}
	return strings.Join(parts, " · ")
}
