package monitor

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/problems"
)

// What is listed of a channel is at channelsPath/:channel/..., and, because clients know it, of Discord at discordPath.
const (
	channelsPath = "/api/channels"
	discordPath  = "/api/discord"

	threadsTail  = "/threads"
	observedTail = "/observed"
	postsTail    = "/posts"
	botsTail     = "/bots"
)

// allChannels stands for every channel in a path.
const allChannels = "all"

func channelNames() (names []string) {
	for _, c := range coordination.Channels() {
		names = append(names, c.Name)
	}
	return names
}

// channelPaths are the endpoints of channels.
func (s *Server) channelPaths() []endpoint {
	paths := []endpoint{{"", channelsPath, "GET /api/channels", s.listChannels}}
	for _, list := range []struct {
		tail   string
		answer func(c echo.Context, channel string) error
	}{{threadsTail, s.listThreads}, {observedTail, s.listObserved}, {postsTail, s.listPosts}, {botsTail, s.listBots}} {
		paths = append(paths,
			endpoint{"", channelsPath + "/*" + list.tail, "GET " + channelsPath + "/:channel" + list.tail, s.inChannel(list.tail, list.answer)},
			endpoint{"", discordPath + list.tail, "GET " + discordPath + list.tail, func(c echo.Context) error { return list.answer(c, coordination.Discord) }})
	}
	return paths
}

// inChannel answers for the channel in the path; "" is all.
func (s *Server) inChannel(tail string, answer func(c echo.Context, channel string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		name, err := pathID(c, tail)
		if err != nil {
			return err
		}
		if name == allChannels {
			return answer(c, "")
		}
		for _, known := range channelNames() {
			if name == known {
				return answer(c, name)
			}
		}
		known := append(channelNames(), allChannels)
		return &problem{Status: http.StatusNotFound, Code: "not_found", Field: "channel", Value: coordination.Shown(name),
			Message: fmt.Sprintf("No channel %q", coordination.Shown(name)), Hint: "use " + strings.Join(known, ", "), Allowed: known}
	}
}

// channel reads the name of a channel; "" if missing.
func (p *parameters) channel() string { return p.word("channel", channelNames()...) }

// channelStates reads the state of each channel by name; the bots' own state is passed in.
func (v *view) channelStates(ctx context.Context) (map[string]health.ChannelState, error) {
	all, err := pending.Channels(ctx, v.tx, int64(v.now))
	if err != nil || v.Bots == nil {
		return all, err
	}
	bots := v.Bots()
	for name, state := range all {
		state.Count(health.OfBots(bots, name))
		all[name] = state
	}
	return all, nil
}

// ChannelAnswer is a channel with its state.
type ChannelAnswer struct {
	Channel string `json:"channel"` // discord, telegram, slack
	Title   string `json:"title"`   // its own spelling
	health.ChannelState
	Accounts []accountHealth `json:"accounts"` // configured ones, by accountId
}

// channelsAnswer answers GET /api/channels.
type channelsAnswer struct {
	Channels []ChannelAnswer `json:"channels"`
	Note     string          `json:"note,omitempty"` // why there are no accounts
	AsOfSeq  int64           `json:"asOfSeq"`
}

// listChannels lists all channels, also those without accounts, Discord first.
func (s *Server) listChannels(c echo.Context) error {
	return s.answerTo(c, parametersOf(c), func(ctx context.Context, v *view) (any, error) {
		states, err := v.channelStates(ctx)
		if err != nil {
			return nil, err
		}
		a := channelsAnswer{Channels: []ChannelAnswer{}, AsOfSeq: v.asOf}
		var bots []health.Bot
		if v.Bots == nil {
			a.Note = noBotsRun("")
		} else {
			bots = v.Bots()
		}
		for _, known := range coordination.Channels() {
			a.Channels = append(a.Channels, ChannelAnswer{Channel: known.Name, Title: known.Title, ChannelState: states[known.Name],
				Accounts: accountsOf(health.OfBots(bots, known.Name))})
		}
		return a, nil
	})
}

// BotsAnswer answers GET /api/channels/:channel/bots.
type BotsAnswer struct {
	Bots  []health.Bot `json:"bots"` // Discord's first, by accountId
	Count int          `json:"count"`
	Note  string       `json:"note,omitempty"` // why there are none
}

func noBotsRun(channel string) string {
	return "no bots run here: another gateway runs them, or " + channelSetting(channel) + " is not configured"
}

func channelSetting(channel string) string {
	if channel == "" {
		return "channels"
	}
	return "channels." + channel
}

func (s *Server) listBots(c echo.Context, channel string) error {
	a := BotsAnswer{Bots: []health.Bot{}}
	if s.opts.Bots == nil {
		a.Note = noBotsRun(channel)
	} else {
		if a.Bots = listOf(s.opts.Bots()); channel != "" {
			a.Bots = listOf(health.OfBots(a.Bots, channel))
		}
		if len(a.Bots) == 0 {
			a.Note = "no bots are configured: add them to " + channelSetting(channel) + ".accounts of openclaw.json"
			if channel == "" {
				a.Note = "no bots are configured: add them to channels.<channel>.accounts of openclaw.json"
			}
		}
	}
	a.Count = len(a.Bots)
	s.position(c)
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusOK, a)
}

type botsHealth struct {
	Bots     int             `json:"bots"`      // enabled bots
	Ready    int             `json:"botsReady"` // connected bots
	Accounts []accountHealth `json:"accounts"`  // all configured accounts, by accountId
}

type accountHealth struct {
	AccountID string          `json:"accountId"`
	AgentID   string          `json:"agentId,omitempty"` // absent: it belongs to no agent
	State     health.BotState `json:"state"`
	Since     int64           `json:"since"` // ms since 1970
}

func accountsOf(bots []health.Bot) []accountHealth {
	all := make([]accountHealth, len(bots))
	for i := range bots {
		all[i] = accountHealth{bots[i].AccountID, bots[i].AgentID, bots[i].State, bots[i].Since}
	}
	return all
}

func botsHealthOf(bots []health.Bot) *botsHealth {
	var state health.ChannelState
	state.Count(bots)
	return &botsHealth{Bots: state.Bots, Ready: state.BotsReady, Accounts: accountsOf(bots)}
}

// channelsHealth is the state of the bots of every channel that has accounts, by name.
func channelsHealth(bots []health.Bot) map[string]*botsHealth {
	all := map[string]*botsHealth{}
	for _, name := range channelNames() {
		if own := health.OfBots(bots, name); len(own) > 0 {
			all[name] = botsHealthOf(own)
		}
	}
	return all
}

func (s *Server) botReasons() (list []health.Reason) {
	if s.opts.Bots == nil {
		return nil
	}
	now := s.opts.Now().UnixMilli()
	for _, b := range s.opts.Bots() {
		channel, _ := coordination.ChannelNamed(b.Channel)
		offline, limited, subject := health.CodeDiscordBotOffline, health.CodeDiscordBotLimited, b.AccountID
		if channel.Name != coordination.Discord {
			offline, limited, subject = health.CodeChannelBotOffline, health.CodeChannelBotLimited, channel.Name+":"+b.AccountID
		}
		warn := func(code health.Code, what, hint string) {
			list = append(list, health.Reason{Severity: health.SeverityWarning, Code: code, What: what, Hint: hint, Subject: subject})
		}
		who := "bot " + strconv.Quote(b.AccountID)
		if b.AgentID != "" {
			who += " of " + b.AgentID
		}
		switch {
		case b.State == health.BotOff:
		case b.State == health.BotFailed:
			warn(offline, who+" is not connected to "+channel.Title+": "+b.Text, b.Hint)
		case problems.Offline(&b, now):
			warn(offline, who+" is not connected to "+channel.Title+": "+string(b.State)+" since "+iso(b.Since),
				"check whether "+channel.Title+" is reachable; see GET "+channelsPath+"/"+channel.Name+botsTail)
		case b.Missing != "":
			warn(limited, who+" lacks something in "+channel.Title+": "+b.Missing, b.MissingHint)
		}
	}
	return list
}
