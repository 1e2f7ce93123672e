package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func (s *Server) usageMethods() map[string]answer {
	return map[string]answer{
		"usage.status":              s.answerUsage,
		"usage.cost":                s.answerCost,
		"sessions.usage":            s.answerSessionsUsage,
		"sessions.usage.timeseries": s.answerUsageSeries,
		"sessions.usage.logs":       s.answerUsageLogs,
	}
}

// usageTotals are token counts, Input without those of the cache, and costs. Of runs here prices are unknown: their costs are zero, and
// MissingCostEntries counts them. What was taken over from OpenClaw says what it has cost.
type usageTotals struct {
	Input              int64 `json:"input"`
	Output             int64 `json:"output"`
	CacheRead          int64 `json:"cacheRead"`
	CacheWrite         int64 `json:"cacheWrite"`
	TotalTokens        int64 `json:"totalTokens"`
	TotalCost          cost  `json:"totalCost"`
	InputCost          cost  `json:"inputCost"`
	OutputCost         cost  `json:"outputCost"`
	CacheReadCost      cost  `json:"cacheReadCost"`
	CacheWriteCost     cost  `json:"cacheWriteCost"`
	MissingCostEntries int64 `json:"missingCostEntries"`
}

// cost is in 10^-9 of the currency of the prices; clients are told it in the currency.
type cost int64

func (c cost) MarshalJSON() ([]byte, error) { return json.Marshal(float64(c) / 1e9) }

func (t *usageTotals) add(s *runs.Spent) {
	t.Input, t.Output, t.TotalTokens = t.Input+s.Input-s.CacheRead-s.CacheWrite, t.Output+s.Output, t.TotalTokens+s.Total
	t.CacheRead, t.CacheWrite = t.CacheRead+s.CacheRead, t.CacheWrite+s.CacheWrite
	t.TotalCost, t.InputCost, t.OutputCost = t.TotalCost+cost(s.Cost.Total), t.InputCost+cost(s.Cost.Input), t.OutputCost+cost(s.Cost.Output)
	t.CacheReadCost, t.CacheWriteCost = t.CacheReadCost+cost(s.Cost.CacheRead), t.CacheWriteCost+cost(s.Cost.CacheWrite)
	t.MissingCostEntries += s.Unpriced
}

// answerUsage answers usage.status, the remaining quota at providers. None is contacted.
func (s *Server) answerUsage(context.Context, *wire.Call) (any, error) {
	return struct {
		UpdatedAt int64 `json:"updatedAt"`
		Providers []any `json:"providers"`
	}{s.opts.Now().UnixMilli(), []any{}}, nil
}

const usualDays = 30

type usageDay struct {
	Date string `json:"date"`
	usageTotals
}

// answerCost answers usage.cost: usage of the last days including today. Invalid parameters are ignored, as in the
// original.
func (s *Server) answerCost(ctx context.Context, call *wire.Call) (any, error) {
	var p struct {
		Days float64 `json:"days"`
	}
	if json.Unmarshal(call.Params, &p) != nil || p.Days < 1 || p.Days > 36_500 {
		p.Days = usualDays
	}
	var dates usageDates
	if json.Unmarshal(call.Params, &dates) != nil {
		dates = usageDates{}
	}
	from, to, zone, err := dates.within(s.opts.Now(), int(p.Days))
	if err != nil {
		from, to, zone, _ = usageDates{}.within(s.opts.Now(), int(p.Days))
	}
	spent, err := s.spent(ctx, runs.SpentQuery{From: from.UnixMilli(), To: to.UnixMilli()})
	if err != nil {
		return nil, err
	}
	a := struct {
		UpdatedAt int64       `json:"updatedAt"`
		Days      int         `json:"days"`
		Daily     []usageDay  `json:"daily"`
		Totals    usageTotals `json:"totals"`
	}{UpdatedAt: s.opts.Now().UnixMilli(), Days: int(p.Days), Daily: []usageDay{}}
	days := map[string]*usageTotals{}
	for i := range spent {
		a.Totals.add(&spent[i])
		at(days, dayOf(spent[i].At, zone)).add(&spent[i])
	}
	a.Daily = daysOf(days)
	return a, nil
}

// spent returns usage. Without agents there is none.
func (s *Server) spent(ctx context.Context, q runs.SpentQuery) (list []runs.Spent, err error) {
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		list, err = runs.SpentIn(ctx, tx, q)
		return err
	})
	return list, err
}

// at returns a map's value, creating it if missing.
func at[K comparable, V any](all map[K]*V, key K) *V {
	one := all[key]
	if one == nil {
		one = new(V)
		all[key] = one
	}
	return one
}

func dayOf(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format(time.DateOnly)
}

func daysOf(days map[string]*usageTotals) []usageDay {
	list := []usageDay{}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		list = append(list, usageDay{day, *days[day]})
	}
	return list
}

// usageDates is the requested range of days and its time zone.
type usageDates struct {
	Start     string `json:"startDate"`
	End       string `json:"endDate"`
	Range     string `json:"range"`
	Mode      string `json:"mode"` // utc, the default; gateway; specific: TimeZone, or UTCOffset
	TimeZone  string `json:"timeZone"`
	UTCOffset string `json:"utcOffset"`
}

// within is the time range; days is the default number of days.
func (d usageDates) within(now time.Time, days int) (from, to time.Time, zone *time.Location, err error) {
	if zone, err = d.zone(); err != nil {
		return from, to, zone, err
	}
	now = now.In(zone)
	to = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, zone)
	if d.End != "" {
		last, err := time.ParseInLocation(time.DateOnly, d.End, zone)
		if err != nil {
			return from, to, zone, wrongDate("endDate", d.End)
		}
		to = last.AddDate(0, 0, 1)
	}
	switch known := map[string]int{"7d": 7, "30d": 30, "90d": 90, "1y": 365}[d.Range]; {
	case d.Start != "":
		if from, err = time.ParseInLocation(time.DateOnly, d.Start, zone); err != nil {
			return from, to, zone, wrongDate("startDate", d.Start)
		}
	case d.Range == "all":
		from = time.UnixMilli(0).In(zone)
	case known > 0:
		from = to.AddDate(0, 0, -known)
	default:
		from = to.AddDate(0, 0, -days)
	}
	return from, to, zone, nil
}

func wrongDate(field, value string) error {
	return invalidRequest(fmt.Sprintf("invalid %s: %s is no day", field, echo(value)), fault{Field: field, Value: echo(value), Hint: "give a day, e.g. 2026-02-20"})
}

func (d usageDates) zone() (*time.Location, error) {
	switch {
	case d.Mode == "gateway":
		return time.Local, nil
	case d.Mode != "specific":
		return time.UTC, nil
	case d.TimeZone != "":
		zone, err := time.LoadLocation(d.TimeZone)
		if err == nil {
			return zone, nil
		}
		if d.UTCOffset == "" {
			return nil, invalidRequest("invalid timeZone: "+echo(d.TimeZone), fault{Field: "timeZone", Value: echo(d.TimeZone),
				Hint: "give a name such as Asia/Seoul"})
		}
	}
	return offsetZone(d.UTCOffset), nil
}

// offsetZone parses a zone such as UTC-4 or UTC+5:30; UTC if empty.
func offsetZone(name string) *time.Location {
	var sign byte
	var hours, minutes int
	hoursText, minutesText, _ := strings.Cut(strings.TrimPrefix(name, "UTC"), ":")
	if n, _ := fmt.Sscanf(hoursText, "%c%d", &sign, &hours); n != 2 {
		return time.UTC
	}
	_, _ = fmt.Sscanf(minutesText, "%d", &minutes) // optional
	seconds := hours*3600 + minutes*60
	if sign == '-' {
		seconds = -seconds
	}
	return time.FixedZone(name, seconds)
}

type usageParams struct {
	usageDates
	Key        string `json:"key"`
	Agent      string `json:"agentId"`
	AgentScope string `json:"agentScope"`
	Limit      int    `json:"limit"`
}

const (
	usualUsage = 50
	maxUsage   = 1_000 // sessions per answer
)

type modelUsage struct {
	Provider string      `json:"provider,omitempty"`
	Model    string      `json:"model,omitempty"`
	Count    int64       `json:"count"` // runs
	Totals   usageTotals `json:"totals"`
}

type dayTokens struct {
	Date   string `json:"date"`
	Tokens int64  `json:"tokens"`
	Cost   cost   `json:"cost"`
}

type sessionUsed struct {
	usageTotals
	SessionID     string        `json:"sessionId,omitempty"`
	FirstActivity int64         `json:"firstActivity"`
	LastActivity  int64         `json:"lastActivity"`
	DurationMs    int64         `json:"durationMs"`
	ActivityDates []string      `json:"activityDates"`
	Daily         []dayTokens   `json:"dailyBreakdown"`
	Models        []modelUsage  `json:"modelUsage"`
	Messages      usageMessages `json:"messageCounts"`

	days   map[string]*usageTotals
	models map[modelRef]*modelUsage
}

func (u *sessionUsed) add(s *runs.Spent, day string) {
	if u.days == nil {
		u.days, u.models, u.FirstActivity = map[string]*usageTotals{}, map[modelRef]*modelUsage{}, s.First
	}
	u.usageTotals.add(s)
	u.Messages.add(s)
	u.FirstActivity, u.LastActivity = min(u.FirstActivity, s.First), max(u.LastActivity, s.Last)
	at(u.days, day).add(s)
	model := at(u.models, modelRef{s.Provider, s.Model})
	model.Count += s.Runs
	model.Totals.add(s)
}

func (u *sessionUsed) end() {
	u.DurationMs = u.LastActivity - u.FirstActivity
	u.ActivityDates, u.Daily = []string{}, []dayTokens{}
	for _, day := range daysOf(u.days) {
		u.ActivityDates = append(u.ActivityDates, day.Date)
		u.Daily = append(u.Daily, dayTokens{day.Date, day.TotalTokens, day.TotalCost})
	}
	u.Models = modelsUsed(u.models)
}

func modelsUsed(models map[modelRef]*modelUsage) []modelUsage {
	list := []modelUsage{}
	for ref, one := range models {
		one.Provider, one.Model = ref.Provider, ref.Model
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b modelUsage) int {
		return cmp.Or(cmp.Compare(b.Totals.TotalTokens, a.Totals.TotalTokens), cmp.Compare(a.Provider+"/"+a.Model, b.Provider+"/"+b.Model))
	})
	return list
}

type usageRow struct {
	Key       string       `json:"key"`
	Label     string       `json:"label,omitempty"`
	SessionID string       `json:"sessionId,omitempty"`
	UpdatedAt int64        `json:"updatedAt,omitempty"`
	AgentID   string       `json:"agentId,omitempty"`
	Channel   string       `json:"channel,omitempty"`
	ChatType  string       `json:"chatType,omitempty"`
	Provider  string       `json:"modelProvider,omitempty"`
	Model     string       `json:"model,omitempty"`
	Usage     *sessionUsed `json:"usage"`
	Weight    any          `json:"contextWeight"` // composition of a prompt: reported by the last answer to agent
}

type usageAnswer struct {
	UpdatedAt  int64           `json:"updatedAt"`
	StartDate  string          `json:"startDate"`
	EndDate    string          `json:"endDate"`
	Sessions   []usageRow      `json:"sessions"`
	Totals     usageTotals     `json:"totals"`
	Aggregates usageAggregates `json:"aggregates"`
}

type usageAggregates struct {
	SessionCount int           `json:"sessionCount"`
	Messages     usageMessages `json:"messages"`
	Tools        usageTools    `json:"tools"`
	ByModel      []modelUsage  `json:"byModel"`
	ByProvider   []modelUsage  `json:"byProvider"`
	ByAgent      []usageGroup  `json:"byAgent"`
	ByChannel    []usageGroup  `json:"byChannel"`
	ByCreator    []any         `json:"byCreator"` // a session's creator is not stored
	Daily        []usageDaily  `json:"daily"`
	CostDaily    []usageDay    `json:"costDaily"`
	DailyModels  []dailyModel  `json:"modelDaily"`
	DailyLatency []any         `json:"dailyLatency"`
}

// usageMessages counts one message and one answer per run; of what was taken over, each answer.
type usageMessages struct {
	Total       int64 `json:"total"`
	User        int64 `json:"user"`
	Assistant   int64 `json:"assistant"`
	ToolCalls   int64 `json:"toolCalls"`
	ToolResults int64 `json:"toolResults"`
	Errors      int64 `json:"errors"`
}

func (m *usageMessages) add(s *runs.Spent) {
	m.Total, m.User, m.Assistant = m.Total+s.Questions+s.Runs, m.User+s.Questions, m.Assistant+s.Runs
	m.ToolCalls, m.ToolResults, m.Errors = m.ToolCalls+s.ToolCalls, m.ToolResults+s.ToolCalls, m.Errors+s.Failed
}

type usageTools struct {
	Calls  int64 `json:"totalCalls"`
	Unique int   `json:"uniqueTools"`
	Tools  []any `json:"tools"` // details are in the log
}

type usageGroup struct {
	AgentID string      `json:"agentId,omitempty"`
	Channel string      `json:"channel,omitempty"`
	Totals  usageTotals `json:"totals"`
}

type usageDaily struct {
	Date      string `json:"date"`
	Tokens    int64  `json:"tokens"`
	Cost      cost   `json:"cost"`
	Messages  int64  `json:"messages"`
	ToolCalls int64  `json:"toolCalls"`
	Errors    int64  `json:"errors"`
}

type dailyModel struct {
	Date     string `json:"date"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Tokens   int64  `json:"tokens"`
	Cost     cost   `json:"cost"`
	Count    int64  `json:"count"`
}

// answerSessionsUsage answers sessions.usage: usage by session, model, agent, channel and day.
func (s *Server) answerSessionsUsage(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[usageParams](call)
	if err != nil {
		return nil, err
	}
	from, to, zone, err := p.within(s.opts.Now(), usualDays)
	if err != nil {
		return nil, err
	}
	q := runs.SpentQuery{From: from.UnixMilli(), To: to.UnixMilli(), Agent: strings.ToLower(coordination.TrimJS(p.Agent))}
	c := s.opts.Configuration.InForce()
	if q.Agent == "" && p.AgentScope != "all" && call.Peer.Protocol >= protocol.SinceOwners {
		q.Agent = c.DefaultAgentID()
	}
	if p.Key != "" {
		key, err := keyAsked(c, "key", p.Key, p.Agent)
		if err != nil {
			return nil, err
		}
		q.SessionKey, q.Agent = key.String(), ""
	}
	a := &usageAnswer{UpdatedAt: s.opts.Now().UnixMilli(), StartDate: from.Format(time.DateOnly), EndDate: to.AddDate(0, 0, -1).Format(time.DateOnly),
		Sessions: []usageRow{}}
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		spent, err := runs.SpentIn(ctx, tx, q)
		if err != nil {
			return err
		}
		used := a.Aggregates.of(spent, zone, &a.Totals)
		keys := slices.SortedFunc(maps.Keys(used), func(x, y string) int {
			return cmp.Or(cmp.Compare(used[y].LastActivity, used[x].LastActivity), cmp.Compare(x, y))
		})
		if limit := min(cmp.Or(p.Limit, usualUsage), maxUsage); len(keys) > limit {
			keys = keys[:limit]
		}
		for _, key := range keys {
			one, err := sessions.ByKey(ctx, tx, key)
			if err != nil {
				return err
			}
			row := usageRow{Key: key, Usage: used[key], AgentID: agentOfKey(key)}
			if one != nil {
				about := rowOf(c, one, protocol.Newest)
				row.Label, row.SessionID, row.UpdatedAt, row.AgentID = one.Label, one.ID, one.UpdatedAt, about.AgentID
				row.Channel, row.ChatType, row.Provider, row.Model = about.Channel, about.ChatType, about.Provider, about.Model
				row.Usage.SessionID = one.ID
			}
			a.Sessions = append(a.Sessions, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return encoded(a)
}

func agentOfKey(name string) string {
	key, err := coordination.ParseSessionKey(name)
	if err != nil {
		return ""
	}
	return key.Agent
}

func (g *usageAggregates) of(spent []runs.Spent, zone *time.Location, totals *usageTotals) map[string]*sessionUsed {
	used := map[string]*sessionUsed{}
	models, providers := map[modelRef]*modelUsage{}, map[modelRef]*modelUsage{}
	agents, channels := map[string]*usageTotals{}, map[string]*usageTotals{}
	days, daily := map[string]*usageTotals{}, map[string]*usageDaily{}
	type dayModel struct {
		date string
		ref  modelRef
	}
	dayModels := map[dayModel]*dailyModel{}
	for i := range spent {
		one := &spent[i]
		date, ref := dayOf(one.At, zone), modelRef{one.Provider, one.Model}
		at(used, one.SessionKey).add(one, date)
		totals.add(one)
		g.Messages.add(one)
		g.Tools.Calls += one.ToolCalls
		for _, m := range [...]*modelUsage{at(models, ref), at(providers, modelRef{one.Provider, ""})} {
			m.Count += one.Runs
			m.Totals.add(one)
		}
		at(agents, one.Agent).add(one)
		at(days, date).add(one)
		if key, err := coordination.ParseSessionKey(one.SessionKey); err == nil && key.Channel != "" && key.Kind != coordination.KeyOther {
			at(channels, key.Channel).add(one)
		}
		day := at(daily, date)
		day.Date, day.Tokens, day.Messages = date, day.Tokens+one.Total, day.Messages+one.Questions+one.Runs
		day.ToolCalls, day.Errors, day.Cost = day.ToolCalls+one.ToolCalls, day.Errors+one.Failed, day.Cost+cost(one.Cost.Total)
		m := at(dayModels, dayModel{date, ref})
		m.Date, m.Provider, m.Model, m.Tokens, m.Count = date, one.Provider, one.Model, m.Tokens+one.Total, m.Count+one.Runs
		m.Cost += cost(one.Cost.Total)
	}
	for _, one := range used {
		one.end()
	}
	g.SessionCount, g.Tools.Tools, g.ByCreator, g.DailyLatency = len(used), []any{}, []any{}, []any{}
	g.ByModel, g.ByProvider, g.CostDaily = modelsUsed(models), modelsUsed(providers), daysOf(days)
	g.ByAgent = groupsOf(agents, func(name string, t usageTotals) usageGroup { return usageGroup{AgentID: name, Totals: t} })
	g.ByChannel = groupsOf(channels, func(name string, t usageTotals) usageGroup { return usageGroup{Channel: name, Totals: t} })
	g.Daily, g.DailyModels = []usageDaily{}, []dailyModel{}
	for _, date := range slices.Sorted(maps.Keys(daily)) {
		g.Daily = append(g.Daily, *daily[date])
	}
	byDay := slices.SortedFunc(maps.Keys(dayModels), func(a, b dayModel) int {
		return cmp.Or(cmp.Compare(a.date, b.date), cmp.Compare(a.ref.String(), b.ref.String()))
	})
	for _, key := range byDay {
		g.DailyModels = append(g.DailyModels, *dayModels[key])
	}
	return used
}

func groupsOf(all map[string]*usageTotals, group func(name string, t usageTotals) usageGroup) []usageGroup {
	list := []usageGroup{}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].TotalTokens, all[a].TotalTokens), cmp.Compare(a, b))
	})
	for _, name := range names {
		list = append(list, group(name, *all[name]))
	}
	return list
}

// usagePoint is the usage of a quarter of an hour, and the total up to its end.
type usagePoint struct {
	Timestamp   int64 `json:"timestamp"`
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	CacheRead   int64 `json:"cacheRead"`
	CacheWrite  int64 `json:"cacheWrite"`
	Total       int64 `json:"totalTokens"`
	Cost        cost  `json:"cost"`
	SoFar       int64 `json:"cumulativeTokens"`
	SoFarOfCost cost  `json:"cumulativeCost"`
}

// maxPoints is the maximum length of a series; the newest points are kept.
const maxPoints = 1_000

// answerUsageSeries answers sessions.usage.timeseries: a session's usage over time.
func (s *Server) answerUsageSeries(ctx context.Context, call *wire.Call) (any, error) {
	key, err := s.usageKey(call)
	if err != nil {
		return nil, err
	}
	spent, err := s.spent(ctx, runs.SpentQuery{To: s.opts.Now().Add(time.Hour).UnixMilli(), SessionKey: key.String()})
	if err != nil {
		return nil, err
	}
	points := pointsOf(spent)
	one, err := s.sessionByKey(ctx, key)
	if err != nil {
		return nil, err
	}
	a := struct {
		SessionID string       `json:"sessionId,omitempty"`
		Points    []usagePoint `json:"points"`
	}{Points: points[max(0, len(points)-maxPoints):]}
	if one != nil {
		a.SessionID = one.ID
	}
	return a, nil
}

// pointsOf adds up what was spent in the same time.
func pointsOf(spent []runs.Spent) []usagePoint {
	points := []usagePoint{}
	var soFar usageTotals
	for i := range spent {
		one := &spent[i]
		soFar.add(one)
		if len(points) == 0 || points[len(points)-1].Timestamp != one.At {
			points = append(points, usagePoint{Timestamp: one.At})
		}
		p := &points[len(points)-1]
		p.Input, p.Output, p.Total = p.Input+one.Input-one.CacheRead-one.CacheWrite, p.Output+one.Output, p.Total+one.Total
		p.CacheRead, p.CacheWrite, p.Cost = p.CacheRead+one.CacheRead, p.CacheWrite+one.CacheWrite, p.Cost+cost(one.Cost.Total)
		p.SoFar, p.SoFarOfCost = soFar.TotalTokens, soFar.TotalCost
	}
	return points
}

func (s *Server) usageKey(call *wire.Call) (coordination.SessionKey, error) {
	p, err := paramsOf[struct {
		Key   string `json:"key"`
		Agent string `json:"agentId"`
	}](call)
	if err != nil {
		return coordination.SessionKey{}, err
	}
	return keyAsked(s.opts.Configuration.InForce(), "key", p.Key, p.Agent)
}

// usageLog is a message of a session with its answer's usage.
type usageLog struct {
	Timestamp int64   `json:"timestamp"`
	Role      string  `json:"role"`
	Content   string  `json:"content"`
	Tokens    int64   `json:"tokens,omitempty"`
	Cost      float64 `json:"cost,omitempty"`
}

// maxUsageText is how much of a message a usage log shows.
const maxUsageText = 2_000

// answerUsageLogs answers sessions.usage.logs: the newest messages of a session.
func (s *Server) answerUsageLogs(ctx context.Context, call *wire.Call) (any, error) {
	key, err := s.usageKey(call)
	if err != nil {
		return nil, err
	}
	p, err := paramsOf[struct {
		Limit int `json:"limit"`
	}](call)
	if err != nil {
		return nil, err
	}
	var messages []sessions.Message
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		one, err := sessions.ByKey(ctx, tx, key.String())
		if err != nil || one == nil {
			return err
		}
		messages, err = sessions.Newest(ctx, tx, one.ID, min(max(cmp.Or(p.Limit, usualHistory), 1), maxHistory), maxHistoryBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	logs := []usageLog{}
	for i := range messages {
		m := &messages[i]
		one := usageLog{Timestamp: m.At, Role: m.Data.Author, Content: cutText(m.Data.Text, maxUsageText, "…")}
		switch {
		case m.Archived:
			one.Role, one.Content = authorSystem, archivedText
		case m.Redacted:
			one.Role, one.Content = authorSystem, redactedText
		}
		if m.Data.Usage != nil {
			one.Tokens = m.Data.Usage.Total
			if m.Data.Usage.Cost != nil {
				one.Cost = m.Data.Usage.Cost.Total
			}
		}
		logs = append(logs, one)
	}
	return encoded(map[string][]usageLog{"logs": logs})
}
