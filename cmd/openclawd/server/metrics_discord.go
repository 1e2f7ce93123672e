package server

import (
	"context"
	"database/sql"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/inbound"
	"github.com/pronto-lab/openclawd/monitor"
)

// discordFacts are what of Discord waits for somebody. What is read for them does not grow with what is over.
type discordFacts struct {
	monitor.DiscordState
	bots []discord.Status // of the accounts that are configured; nil where none run
}

// botStates are all that a bot may be in.
var botStates = []discord.State{discord.StateOff, discord.StateConnecting, discord.StateReady, discord.StateResuming, discord.StateFailed}

func (f *facts) readDiscord(ctx context.Context, tx *sql.Tx) (err error) {
	f.discord.DiscordState, err = monitor.ReadDiscord(ctx, tx, f.at.UnixMilli())
	return err
}

// discordReasons name what does not stand in Discord. What is wrong with single bots the API tells, which asks them.
func (f *facts) discordReasons() []monitor.Reason {
	n := f.discord.Undelivered
	if n == 0 {
		return nil
	}
	return []monitor.Reason{{Code: "discord_undelivered",
		What: output.Count(int64(n), "post") + " to Discord given up, or it is not known whether it stands there",
		Mend: "openclawd work --dead says why; openclawd work resend looks whether it stands there and posts it else, openclawd work cancel leaves it at that"}}
}

// addDiscord adds how the bots stand, and what of Discord waits. Accounts are a label: there are as many as are configured. The oldest delivery that
// waits is work_oldest_wait_seconds, its pool being delivery.Pool.
func (c *figures) addDiscord() {
	const gauge = prometheus.GaugeValue
	c.add(gauge, "discord_bot_up", "1 while the bot of an account is connected to Discord; of those that are switched off there is none.", []string{"account"},
		func(f *facts, tell func(float64, ...string)) {
			for i := range f.discord.bots {
				if b := &f.discord.bots[i]; b.State != discord.StateOff {
					tell(bit(b.State == discord.StateReady), b.AccountID)
				}
			}
		})
	c.add(gauge, "discord_bots", "Bots of the configuration, by state.", []string{"state"}, func(f *facts, tell func(float64, ...string)) {
		for _, state := range botStates {
			n := 0
			for i := range f.discord.bots {
				if f.discord.bots[i].State == state {
					n++
				}
			}
			tell(float64(n), string(state))
		}
	})
	for _, m := range []struct {
		name, help string
		value      func(*discordFacts) int
	}{
		{"discord_undelivered", "Posts to Discord that were given up, or of which nobody knows whether they stand there.", func(d *discordFacts) int { return d.Undelivered }},
		{"discord_suspended_places", "Threads and channels in which bots have talked too much and are held.", func(d *discordFacts) int { return d.Suspended }},
		{"collaborations_open", "Requests between agents in Discord that nobody has answered.", func(d *discordFacts) int { return d.OpenCollaborations }},
		{"collaborations_escalated", "Requests between agents in Discord that nobody has answered although a person was told.", func(d *discordFacts) int { return d.Escalated }},
	} {
		c.add(gauge, m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.err == nil {
				tell(float64(m.value(&f.discord)))
			}
		})
	}
}

// discordFigures count what happens between agents and Discord while it does. Labels are of few values: those of coordination/route and
// coordination/delivery.
type discordFigures struct {
	verdicts   *prometheus.CounterVec // by what a message was to an agent, and why
	deciding   prometheus.Histogram
	storing    prometheus.Histogram
	deliveries *prometheus.CounterVec // by what they were for, and how they ended
}

func newDiscordFigures() *discordFigures {
	seconds := []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5}
	return &discordFigures{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_discord_verdicts_total",
			Help: "What messages of Discord were to agents since the start, by verdict and reason: one for each message and agent that sees it."},
			[]string{"verdict", "reason"}),
		deciding: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_discord_decision_seconds", Buckets: seconds,
			Help: "How long the decisions about messages of Discord took, since the start, without their storing."}),
		storing: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_discord_message_seconds", Buckets: seconds,
			Help: "How long it took from when a message of Discord was told until what was decided about it was on disk, since the start."}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_discord_deliveries_total",
			Help: "Deliveries to Discord that have ended since the start, by what they were for and how they ended."}, []string{"purpose", "outcome"}),
	}
}

// all are the metrics of a registry.
func (f *discordFigures) all() []prometheus.Collector {
	return []prometheus.Collector{f.verdicts, f.deciding, f.storing, f.deliveries}
}

// heard counts a decision. It does not wait.
func (f *discordFigures) heard(h inbound.Heard) {
	f.deciding.Observe(h.Deciding.Seconds())
	f.storing.Observe(h.Whole.Seconds())
	for i := range h.Decision.Verdicts {
		v := &h.Decision.Verdicts[i]
		f.verdicts.WithLabelValues(string(v.Mode), string(v.Reason)).Inc()
	}
	if len(h.Decision.Verdicts) == 0 {
		f.verdicts.WithLabelValues(string(route.Dropped), string(route.NoBot)).Inc()
	}
}

// ended counts the end of a delivery. It does not wait.
func (f *discordFigures) ended(d *delivery.Delivery, how delivery.State) {
	f.deliveries.WithLabelValues(d.Purpose, string(how)).Inc()
}
