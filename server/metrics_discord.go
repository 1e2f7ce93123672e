package server

import (
	"context"
	"database/sql"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// discordFacts are the metrics of Discord that need attention. The cost of reading them does not grow with finished
// work.
type discordFacts struct {
	health.Discord
	bots []health.Bot // of the configured accounts; nil where no bots run
}

var botStates = []health.BotState{health.BotOff, health.BotConnecting, health.BotReady, health.BotResuming, health.BotFailed}

func (f *facts) readDiscord(ctx context.Context, tx *sql.Tx) (err error) {
	f.discord.Discord, err = pending.Discord(ctx, tx, f.at.UnixMilli())
	return err
}

// discordReasons reports undelivered posts. Problems of single bots are reported by the API, which queries the bots.
func (f *facts) discordReasons() []health.Reason {
	n := f.discord.Undelivered
	if n == 0 {
		return nil
	}
	return []health.Reason{{Code: health.CodeDiscordUndelivered,
		What: output.Count(int64(n), "post") + " to Discord failed for good, or delivery is unknown",
		Hint: "openclawd work --dead shows why; openclawd work resend posts it unless it is already there, openclawd work cancel drops it"}}
}

// addDiscord adds metrics of bots and of pending Discord work. Accounts are a label: their number is configured. The age of the oldest
// waiting delivery is work_oldest_wait_seconds with pool delivery.Pool.
func (c *metricsCollector) addDiscord() {
	const gauge = prometheus.GaugeValue
	c.add(gauge, "discord_bot_up", "1 while the bot of an account is connected to Discord; missing for disabled bots.", []string{"account"},
		func(f *facts, tell func(float64, ...string)) {
			for i := range f.discord.bots {
				if b := &f.discord.bots[i]; b.State != health.BotOff {
					tell(boolValue(b.State == health.BotReady), b.AccountID)
				}
			}
		})
	c.add(gauge, "discord_bots", "Configured bots, by state.", []string{"state"}, func(f *facts, tell func(float64, ...string)) {
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
		{"discord_undelivered", "Posts to Discord that failed for good, or whose delivery is unknown.", func(d *discordFacts) int { return d.Undelivered }},
		{"discord_suspended_places", "Threads and channels suspended because bots talked too much.", func(d *discordFacts) int { return d.Suspended }},
		{"collaborations_open", "Unanswered requests between agents in Discord.", func(d *discordFacts) int { return d.OpenCollaborations }},
		{"collaborations_escalated", "Unanswered requests between agents in Discord that were escalated to a person.", func(d *discordFacts) int { return d.Escalated }},
	} {
		c.add(gauge, m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.err == nil {
				tell(float64(m.value(&f.discord)))
			}
		})
	}
}

// discordMetrics count events between agents and Discord. Labels have few values: those of coordination/route and
// coordination/delivery.
type discordMetrics struct {
	verdicts   *prometheus.CounterVec // by verdict and reason
	deciding   prometheus.Histogram
	storing    prometheus.Histogram
	deliveries *prometheus.CounterVec // by purpose and outcome
}

func newDiscordMetrics() *discordMetrics {
	seconds := []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5}
	return &discordMetrics{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_discord_verdicts_total",
			Help: "Routing decisions about Discord messages since the start, by verdict and reason: one for each message and agent that sees it."},
			[]string{"verdict", "reason"}),
		deciding: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_discord_decision_seconds", Buckets: seconds,
			Help: "Time to decide about a Discord message, since the start, without storing the decision."}),
		storing: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_discord_message_seconds", Buckets: seconds,
			Help: "Time from receiving a Discord message until the decision about it was on disk, since the start."}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_discord_deliveries_total",
			Help: "Finished deliveries to Discord since the start, by purpose and outcome."}, []string{"purpose", "outcome"}),
	}
}

func (f *discordMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{f.verdicts, f.deciding, f.storing, f.deliveries}
}

// countDecision counts a decision. It does not block.
func (f *discordMetrics) countDecision(h inbound.DecisionStats) {
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

// countEnd counts the end of a delivery. It does not block.
func (f *discordMetrics) countEnd(d *delivery.Delivery, how delivery.State) {
	f.deliveries.WithLabelValues(d.Purpose, string(how)).Inc()
}
