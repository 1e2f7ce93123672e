package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/monitor/push"
)

// DefaultTaskHub is the default address of Task-Hub.
const DefaultTaskHub = taskhub.DefaultAddress

const (
	milestonesPath    = taskhub.Path
	maxTaskHubBytes   = 8 << 20   // for one answer
	maxMilestoneBytes = 256 << 10 // pushed at most; clients request more themselves
)

// newTaskHub returns a client for Task-Hub with the settings in force.
func (s *Server) newTaskHub() *taskhub.Client {
	return taskhub.New(taskhub.Options{MaxBody: maxTaskHubBytes, Address: func() (base, cookie string) {
		settings := s.settings.Load()
		return settings.TaskHub, settings.Cookie.Reveal()
	}})
}

// taskHubAnswer is Task-Hub's answer. body is JSON, or nil if empty.
type taskHubAnswer struct {
	status int
	body   json.RawMessage
}

// askTaskHub requests a path below milestonesPath, given by its segments. cookie may be "".
func (s *Server) askTaskHub(ctx context.Context, segments []string, query, cookie string) (*taskHubAnswer, error) {
	said, err := s.taskHub.Ask(ctx, taskhub.Request{Method: http.MethodGet, Segments: segments, Query: query, Header: http.Header{"Cookie": {cookie}}})
	if err != nil {
		return nil, err
	}
	answer := &taskHubAnswer{status: said.Status, body: said.Body}
	switch {
	case said.Status == http.StatusNoContent || said.Status == http.StatusNotModified:
		answer.body = nil
	case !json.Valid(said.Body):
		if answer.body, err = json.Marshal(map[string]string{"raw": string(said.Body)}); err != nil {
			return nil, fmt.Errorf("wrap answer of Task-Hub: %w", err)
		}
	}
	return answer, nil
}

// milestones proxies a request to Task-Hub, with the caller's cookie.
func (s *Server) milestones(c echo.Context) error {
	segments, ok := milestoneSegments(c.Request().URL)
	if !ok {
		return notFound("Not found")
	}
	ctx := c.Request().Context()
	answer, err := s.askTaskHub(ctx, segments, c.Request().URL.RawQuery, c.Request().Header.Get("Cookie"))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.opts.Logger.Debug("cannot proxy milestone request", "err", err)
		return &problem{Status: http.StatusBadGateway, Code: "task_hub", Message: "Failed to proxy milestone request",
			Hint: "check whether Task-Hub runs at TASK_HUB_URL, or taskMonitor.taskHubUrl of openclaw.json"}
	}
	s.position(c)
	if answer.body == nil {
		return c.NoContent(answer.status)
	}
	return c.Blob(answer.status, "application/json", answer.body)
}

// milestoneSegments splits and decodes the path below milestonesPath, and reports whether it stays below it if decoded
// again.
func milestoneSegments(u *url.URL) (segments []string, ok bool) {
	rest := strings.TrimPrefix(u.EscapedPath(), milestonesPath)
	if rest == "" {
		return nil, true
	}
	for escaped := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil || !taskhub.ValidSegment(segment) {
			return nil, false
		}
		segments = append(segments, segment)
	}
	return segments, strings.HasPrefix(rest, "/")
}

type milestonePoll struct {
	s      *Server
	seen   [sha256.Size]byte
	based  bool // seen is set
	silent bool // Task-Hub does not answer, which has been logged
}

// pollMilestones notifies /ws when Task-Hub's milestones change, until ctx ends. It does not poll without clients.
func (s *Server) pollMilestones(ctx context.Context) {
	if s.opts.MilestoneInterval < 0 {
		return
	}
	ticker := time.NewTicker(s.opts.MilestoneInterval)
	defer ticker.Stop()
	poll := milestonePoll{s: s}
	for {
		if s.PushStats().Clients > 0 {
			poll.once(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *milestonePoll) once(ctx context.Context) {
	answer, err := p.s.askTaskHub(ctx, nil, "", "")
	if err == nil && answer.status != http.StatusOK {
		err = fmt.Errorf("status %d", answer.status)
	}
	if err != nil {
		p.failed(ctx, err)
		return
	}
	if p.silent {
		p.s.opts.Logger.Info("Task-Hub answers again; polling milestones")
	}
	p.silent = false
	sum := sha256.Sum256(answer.body)
	if p.based && sum != p.seen {
		p.s.Publish(milestoneUpdate(answer.body))
	}
	p.seen, p.based = sum, true
}

// failed logs a polling failure, once until it is over.
func (p *milestonePoll) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || p.silent {
		return
	}
	p.silent = true
	p.s.opts.Logger.Info("cannot poll Task-Hub's milestones; will retry", "err", err)
}

func milestoneUpdate(body json.RawMessage) push.Message {
	data := map[string]any{"event": "milestone_update", "milestones": body}
	if len(body) > maxMilestoneBytes {
		data["milestones"], data["bytes"] = nil, len(body)
	}
	return push.Message{Type: "task_update", Data: data}
}
