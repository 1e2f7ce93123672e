package routing_test

import (
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// talk appends so many messages, of which each tenth is handled, in a channel and 100 threads, with pauses of a second.
func (l *log) talk(b *testing.B, first, n int) {
	b.Helper()
	var appends []eventstore.StreamAppend
	for i := first; i < first+n; i++ {
		at, author, text := channel, "ruda", fmt.Sprint("네, PR #", i)
		if i%3 == 0 {
			at = fmt.Sprint(700_000_000_000_000_000 + i%100)
		}
		if i%10 == 0 {
			author, text = "human", "<@1002> 이것도"
		}
		d := route.Decide(&route.Situation{Message: message(fmt.Sprint(5_000_000+i), int64(i)*second, author, at, text), Bots: team, Policy: policy(),
			Participants: route.Attendance{}})
		if appends = append(appends, said(&d)...); len(appends) >= 1_000 {
			l.append(b, appends...)
			appends = nil
		}
	}
	l.append(b, appends...)
}

// What is read for the decision about one message, by how many there were before.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			l := setup(b)
			l.talk(b, 0, n)
			now := base + int64(n)*second
			b.ReportAllocs()
			l.deciding(b, func(tx eventstore.Tx) error {
				for i := 0; b.Loop(); i++ {
					if _, err := routing.Earlier(tx, fmt.Sprint(5_000_000+n-1-i%n)); err != nil {
						return err
					}
					if _, err := routing.Attendance(tx, "700000000000000003"); err != nil {
						return err
					}
					if _, err := routing.Guard(tx, channel, "eden"); err != nil {
						return err
					}
					if _, err := routing.History(tx, channel, agents[:2], route.HistoryLimit, route.HistoryTTL, now); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// A message that four agents see, with its decision, in the tables.
func BenchmarkFold(b *testing.B) {
	l := setup(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d := route.Decide(&route.Situation{Message: message(fmt.Sprint(5_000_000+i), int64(i), "human", channel, "<@1002> 이것도"), Bots: team, Policy: policy()})
		l.append(b, said(&d)...)
	}
}
