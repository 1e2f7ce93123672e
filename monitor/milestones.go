package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/monitor/push"
)

// DefaultTaskHub is where Task-Hub is when nothing says otherwise.
const DefaultTaskHub = "http://localhost:3102"

const (
	milestonesPath    = "/api/milestones"
	taskHubTime       = 10 * time.Second // for one answer, redirects included
	maxTaskHubBytes   = 8 << 20          // of one answer
	maxTaskHubHops    = 3                // redirects on its own host
	maxMilestoneBytes = 256 << 10        // of what is pushed; who needs more asks for it
)

// newTaskHubClient asks one server and no other: it follows no redirect to another host, and goes by no proxy that the environment names,
// which would be shown the cookie.
func newTaskHubClient() *http.Client {
	return &http.Client{
		Timeout:   taskHubTime,
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			first := via[0].URL
			if len(via) > maxTaskHubHops || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
				return fmt.Errorf("redirect to %s refused", next.URL.Redacted())
			}
			return nil
		},
	}
}

// taskHubAnswer is what Task-Hub said. body is JSON, or nil where there is none to say.
type taskHubAnswer struct {
	status int
	body   json.RawMessage
}

// askTaskHub asks for a path below milestonesPath, given by its segments. cookie may be "".
func (s *Server) askTaskHub(ctx context.Context, segments []string, query, cookie string) (*taskHubAnswer, error) {
	hub := s.settings.Load().TaskHub
	if hub == "" {
		hub = DefaultTaskHub
	}
	u, err := url.Parse(hub)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("ask Task-Hub: %q is not its address", hub)
	}
	u = u.JoinPath(milestonesPath)
	for _, segment := range segments {
		u = u.JoinPath(url.PathEscape(segment))
	}
	u.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask Task-Hub: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if cookie == "" {
		cookie = s.settings.Load().Cookie.Reveal()
	}
	if cookie != "" {
		request.Header.Set("Cookie", cookie)
	}
	response, err := s.taskHub.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Task-Hub: %w", err)
	}
	defer response.Body.Close()
	return readTaskHub(response)
}

func readTaskHub(response *http.Response) (*taskHubAnswer, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTaskHubBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read answer of Task-Hub: %w", err)
	case len(body) > maxTaskHubBytes:
		return nil, fmt.Errorf("read answer of Task-Hub: longer than %d bytes", maxTaskHubBytes)
	}
	answer := &taskHubAnswer{status: response.StatusCode, body: body}
	switch {
	case response.StatusCode == http.StatusNoContent || response.StatusCode == http.StatusNotModified:
		answer.body = nil
	case !json.Valid(body):
		if answer.body, err = json.Marshal(map[string]string{"raw": string(body)}); err != nil {
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
		if err != nil || strings.Trim(segment, ".") == "" || strings.ContainsAny(segment, `/\%`) || strings.ContainsFunc(segment, unicode.IsControl) {
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
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which may say more than a log should hold
	}
	p.s.opts.Logger.Info("Task-Hub does not answer; its milestones are not followed until it does", "err", err)
}

func milestoneUpdate(body json.RawMessage) push.Message {
	data := map[string]any{"event": "milestone_update", "milestones": body}
	if len(body) > maxMilestoneBytes {
		data["milestones"], data["bytes"] = nil, len(body)
	}
	return push.Message{Type: "task_update", Data: data}
}
