package slack_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

func newApps(m *team) *slack.Apps { return slack.New(m.options) }

// listen serves the Apps under test, and returns their address.
func (m *team) listen() string {
	receiver := httptest.NewServer(m.Apps)
	m.t.Cleanup(receiver.Close)
	return receiver.URL
}

// send makes a signed request, and returns the status of its answer.
func (m *team) send(to, secret string, at time.Time, body string) int {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", slacktest.Signature(secret, stamp, []byte(body)))
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
