package slacktest_test

import (
	"context"
	"testing"
	"time"

	library "github.com/slack-go/slack"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is a workspace with two apps, a person and a channel.
type lab struct {
	*slacktest.Server
	t          *testing.T
	ctx        context.Context
	ruda, eden *slacktest.App
	bora       *slacktest.Person
	channel    slacktest.Channel
}

func newLab(t *testing.T, o slacktest.Options) *lab {
	t.Helper()
	if o.Limits == nil {
		o.Limits = slacktest.NoLimits()
	}
	s, err := slacktest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), testscale.Patience)
	t.Cleanup(cancel)
	l := &lab{Server: s, t: t, ctx: ctx, ruda: s.AddApp("ruda", slacktest.AppOptions{Commands: []string{"/ask"}}),
		eden: s.AddApp("eden", slacktest.AppOptions{}), bora: s.AddPerson("bora")}
	l.channel = s.AddChannel("general", l.bora.ID, l.ruda.UserID, l.eden.UserID)
	return l
}

func (l *lab) client(a *slacktest.App) *library.Client {
	return library.New(a.Token, library.OptionAPIURL(l.URL()), library.OptionAppLevelToken(a.AppToken))
}

// hour is a delay that no test reaches.
const hour = time.Hour
