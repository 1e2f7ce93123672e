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

// DefaultTaskHub is where Task-Hub is when nothing says otherwise.
const DefaultTaskHub = taskhub.DefaultAddress

const (
	milestonesPath    = taskhub.Path
	maxTaskHubBytes   = 8 << 20   // of one answer
	maxMilestoneBytes = 256 << 10 // of what is pushed; who needs more asks for it
)

// newTaskHub asks Task-Hub as the settings in force say.
func (s *Server) newTaskHub() *taskhub.Client {
	return taskhub.New(taskhub.Options{MaxBody: maxTaskHubBytes, Address: func() (base, cookie string) {
		settings := s.settings.Load()
		return settings.TaskHub, settings.Cookie.Reveal()
	}})
}

// taskHubAnswer is what Task-Hub said. body is JSON, or nil where there is none to say.
type taskHubAnswer struct {
	status int
	body   json.RawMessage
}

// askTaskHub asks for a path below milestonesPath, given by its segments. cookie may be "".
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

// milestones passes a request on to Task-Hub, which has them, with the cookie of the caller.
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
		s.opts.Logger.Debug("milestones not passed on", "err", err)
		return &problem{Status: http.StatusBadGateway, Code: "task_hub", Message: "Failed to proxy milestone request",
			Hint: "see whether Task-Hub runs at TASK_HUB_URL, or taskMonitor.taskHubUrl of openclaw.json"}
	}
	s.position(c)
	if answer.body == nil {
		return c.NoContent(answer.status)
	}
	return c.Blob(answer.status, "application/json", answer.body)
}

// milestoneSegments splits what stands below milestonesPath, decoded, and reports whether it stays there whoever decodes it again.
func milestoneSegments(u *url.URL) (segments []string, ok bool) {
	rest := strings.TrimPrefix(u.EscapedPath(), milestonesPath)
	if rest == "" {
		return nil, true
	}
	for escaped := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil || !taskhub.Sound(segment) {
			return nil, false
		}
		segments = append(segments, segment)
	}
	return segments, strings.HasPrefix(rest, "/")
}

// milestonePoll looks at Task-Hub's milestones again and again.
type milestonePoll struct {
	s      *Server
	seen   [sha256.Size]byte
	based  bool // seen is something
	silent bool // Task-Hub has not answered lately, which has been logged
}

// pollMilestones tells everybody on /ws when Task-Hub's milestones have changed, until ctx ends. While nobody is there it does not ask.
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
		p.s.opts.Logger.Info("Task-Hub answers again; its milestones are followed")
	}
	p.silent = false
	sum := sha256.Sum256(answer.body)
	if p.based && sum != p.seen {
		p.s.Publish(milestoneUpdate(answer.body))
	}
	p.seen, p.based = sum, true
}

// failed logs what keeps milestones from being followed, once until it is over.
func (p *milestonePoll) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || p.silent {
		return
	}
	p.silent = true
	p.s.opts.Logger.Info("Task-Hub does not answer; its milestones are not followed until it does", "err", err)
}

func milestoneUpdate(body json.RawMessage) push.Message {
	data := map[string]any{"event": "milestone_update", "milestones": body}
	if len(body) > maxMilestoneBytes {
		data["milestones"], data["bytes"] = nil, len(body)
	}
	return push.Message{Type: "task_update", Data: data}
}
