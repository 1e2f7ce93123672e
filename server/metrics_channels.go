package server

import (
	"context"
	"database/sql"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// channelFacts are the metrics of channels that need attention. The cost of reading them does not grow with finished
// work.
type channelFacts struct {
	states map[string]health.ChannelState // by channel
	bots   []health.Bot                   // of the configured accounts; nil where no bots run
}

var botStates = []health.BotState{health.BotOff, health.BotConnecting, health.BotReady, health.BotResuming, health.BotFailed}

func (f *facts) readChannels(ctx context.Context, tx *sql.Tx) (err error) {
	f.channels.states, err = pending.Channels(ctx, tx, f.at.UnixMilli())
	return err
}

// total adds up a number of all channels.
func (f *channelFacts) total(value func(health.ChannelState) int) (n int) {
	for _, s := range f.states {
		n += value(s)
	}
	return n
}

// channelReasons reports undelivered posts. Problems of single bots are reported by the API, which queries the bots.
func (f *facts) channelReasons() (list []health.Reason) {
	for _, c := range coordination.Channels() {
		n := f.channels.states[c.Name].Undelivered
		if n == 0 {
			continue
		}
		r := health.Reason{Code: health.CodeDiscordUndelivered,
			What: output.Count(int64(n), "post") + " to " + c.Title + " failed for good, or delivery is unknown",
			Hint: "openclawd work --dead shows why; openclawd work resend posts it unless it is already there, openclawd work cancel drops it"}
		if c.Name != coordination.Discord {
			r.Code, r.Subject = health.CodeChannelUndelivered, c.Name
		}
		list = append(list, r)
	}
	return list
}

// addChannels adds metrics of bots and of pending work in channels. Accounts are a label: their number is configured. The
// age of the oldest waiting delivery is work_oldest_wait_seconds, whose pool is the channel's name. What is called
// discord_ is older than other channels: it is Discord's alone.
func (c *metricsCollector) addChannels() {
	const gauge = prometheus.GaugeValue
	c.addBots("discord", nil, []string{coordination.Discord})
	c.addBots("channel", []string{"channel"}, channelNames())
	for _, m := range []struct {
		name, help string
		value      func(health.ChannelState) int
	}{
		{"undelivered", "Posts that failed for good, or whose delivery is unknown.", func(s health.ChannelState) int { return s.Undelivered }},
		{"suspended_places", "Threads and places suspended because bots talked too much.", func(s health.ChannelState) int { return s.Suspended }},
	} {
		c.add(gauge, "discord_"+m.name, m.help+" In Discord.", nil, func(f *facts, tell func(float64, ...string)) {
			if f.err == nil {
				tell(float64(m.value(f.channels.states[coordination.Discord])))
			}
		})
		c.add(gauge, "channel_"+m.name, m.help+" By channel.", []string{"channel"}, func(f *facts, tell func(float64, ...string)) {
			for _, name := range channelNames() {
				if f.err == nil {
					tell(float64(m.value(f.channels.states[name])), name)
				}
			}
		})
	}
	for _, m := range []struct {
		name, help string
		value      func(health.ChannelState) int
	}{
		{"collaborations_open", "Unanswered requests between agents in channels.", func(s health.ChannelState) int { return s.OpenCollaborations }},
		{"collaborations_escalated", "Unanswered requests between agents in channels that were escalated to a person.",
			func(s health.ChannelState) int { return s.Escalated }},
	} {
		c.add(gauge, m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.err == nil {
				tell(float64(f.channels.total(m.value)))
			}
		})
	}
}

// addBots adds the state of the bots in some channels; label is none, or the channel.
func (c *metricsCollector) addBots(prefix string, label, channels []string) {
	labels := func(channel, other string) []string {
		if len(label) == 0 {
			return []string{other}
		}
		return []string{channel, other}
	}
	c.add(prometheus.GaugeValue, prefix+"_bot_up", "1 while the bot of an account is connected; missing for disabled bots.", append(label, "account"),
		func(f *facts, tell func(float64, ...string)) {
			for _, name := range channels {
				for _, b := range health.OfBots(f.channels.bots, name) {
					if b.State != health.BotOff {
						tell(boolValue(b.State == health.BotReady), labels(name, b.AccountID)...)
					}
				}
			}
		})
	c.add(prometheus.GaugeValue, prefix+"_bots", "Configured bots, by state.", append(label, "state"), func(f *facts, tell func(float64, ...string)) {
		for _, name := range channels {
			counts := map[health.BotState]int{}
			for _, b := range health.OfBots(f.channels.bots, name) {
				counts[b.State]++
			}
			for _, state := range botStates {
				tell(float64(counts[state]), labels(name, string(state))...)
			}
		}
	})
}

func channelNames() (names []string) {
	for _, c := range coordination.Channels() {
		names = append(names, c.Name)
	}
	return names
}

// channelCounters count events between agents and channels. Labels have few values: those of coordination/route and
// coordination/delivery.
type channelCounters struct {
	verdicts   *prometheus.CounterVec // by verdict and reason
	deciding   prometheus.ObserverVec
	storing    prometheus.ObserverVec
	deliveries *prometheus.CounterVec // by purpose and outcome
}

// newChannelCounters returns counters under a prefix, with further labels.
func newChannelCounters(prefix, where string, labels ...string) *channelCounters {
	seconds := []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5}
	with := func(more ...string) []string { return append(append([]string{}, labels...), more...) }
	return &channelCounters{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_verdicts_total",
			Help: "Routing decisions about messages" + where + " since the start, by verdict and reason: one for each message and agent that sees it."},
			with("verdict", "reason")),
		deciding: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "_decision_seconds", Buckets: seconds,
			Help: "Time to decide about a message" + where + ", since the start, without storing the decision."}, with()),
		storing: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "_message_seconds", Buckets: seconds,
			Help: "Time from receiving a message" + where + " until the decision about it was on disk, since the start."}, with()),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_deliveries_total",
			Help: "Finished deliveries" + where + " since the start, by purpose and outcome."}, with("purpose", "outcome")),
	}
}

func (m *channelCounters) all() []prometheus.Collector {
	return []prometheus.Collector{m.verdicts, m.deciding, m.storing, m.deliveries}
}

// of returns the counters with values of the further labels.
func (m *channelCounters) of(values ...string) countersOf { return countersOf{m, values} }

// countersOf are the counters of one channel.
type countersOf struct {
	*channelCounters
	labels []string
}

func (m countersOf) with(more ...string) []string {
	return append(append([]string{}, m.labels...), more...)
}

// channelMetrics are the counters of all channels. Discord's are counted under their older names, too.
type channelMetrics struct {
	discord *channelCounters
	every   *channelCounters
}

func newChannelMetrics() *channelMetrics {
	m := &channelMetrics{discord: newChannelCounters("openclawd_discord", " in Discord"), every: newChannelCounters("openclawd_channel", " in channels", "channel")}
	m.discord.deciding.WithLabelValues()
	m.discord.storing.WithLabelValues()
	return m
}

func (m *channelMetrics) all() []prometheus.Collector {
	return append(m.discord.all(), m.every.all()...)
}

// countersFor are the counters of a channel.
func (m *channelMetrics) countersFor(channel string) []countersOf {
	list := []countersOf{m.every.of(channel)}
	if channel == coordination.Discord {
		list = append(list, m.discord.of())
	}
	return list
}

// countDecision counts a decision in a channel. It does not block.
func (m *channelMetrics) countDecision(channel string) func(inbound.DecisionStats) {
	counters := m.countersFor(channel)
	return func(h inbound.DecisionStats) {
		for _, c := range counters {
			c.deciding.WithLabelValues(c.labels...).Observe(h.Deciding.Seconds())
			c.storing.WithLabelValues(c.labels...).Observe(h.Whole.Seconds())
			for i := range h.Decision.Verdicts {
				v := &h.Decision.Verdicts[i]
				c.verdicts.WithLabelValues(c.with(string(v.Mode), string(v.Reason))...).Inc()
			}
			if len(h.Decision.Verdicts) == 0 {
				c.verdicts.WithLabelValues(c.with(string(route.Dropped), string(route.NoBot))...).Inc()
			}
		}
	}
}

// countEnd counts the end of a delivery to a channel. It does not block.
func (m *channelMetrics) countEnd(channel string) func(*delivery.Delivery, delivery.State) {
	counters := m.countersFor(channel)
	return func(d *delivery.Delivery, how delivery.State) {
		for _, c := range counters {
			c.deliveries.WithLabelValues(c.with(d.Purpose, string(how))...).Inc()
		}
	}
}
