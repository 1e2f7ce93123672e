package telegram_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// album sends four pictures as one.
func (m *team) album(ch *telegramtest.Chat, text string) []telegramtest.Message {
	m.t.Helper()
	all, err := m.bora.SendAlbum(ch, telegramtest.Draft{Text: text}, []byte("1"), []byte("22"), []byte("333"), []byte("4444"))
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// sizes are those of a fact's files, in order.
func sizes(in channel.Inbound) (all []int64) {
	for _, a := range in.Message.Attachments {
		all = append(all, a.Size)
	}
	return all
}

func TestAlbumsAreOneMessage(t *testing.T) {
	t.Parallel()
	for _, webhook := range []bool{false, true} {
		t.Run(fmt.Sprintf("webhook %v", webhook), func(t *testing.T) {
			t.Parallel()
			m := newTeam(t)
			if webhook {
				m.withWebhook()
			}
			m.start()
			m.album(m.private, "look")
			m.write(m.private, "after it")
			m.fact("ruda", "created after it")
			in := m.fact("ruda", "created look")
			if got := sizes(in); !slices.Equal(got, []int64{1, 2, 3, 4}) {
				t.Errorf("the files have %v bytes, want all four", got)
			}
			sent := m.album(m.forum, "@ruda_bot these")
			text := "created <@" + id(m.ruda.User) + "> these"
			of := m.fact("eden", text)
			equal(t, "the id", of.Message.ID, fmt.Sprintf("%s:%d", placeID(m.forum), sent[0].MessageID))
			if got := sizes(of); len(got) != 4 {
				t.Errorf("the files have %v bytes, want all four", got)
			}
			if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
				t.Fatal(err)
			}
			if all := m.told("ruda"); len(all) != 3 || all[0] != "created look" {
				t.Errorf("ruda is told %q, want the album, what came after it, and what is meant for it", all)
			}
		})
	}
}

// A bot that ends while it waits for the rest of an album has lost none of it afterwards.
func TestAlbumsSurviveAnEnd(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{}, 100)
	m := newTeam(t, func(o *channel.Options) {
		o.AfterFunc = func(d time.Duration, f func()) channel.Timer {
			if d < 100*time.Millisecond || d > time.Second {
				return time.AfterFunc(d, f)
			}
			waits <- struct{}{} // for the rest of the album
			return time.NewTimer(time.Hour)
		}
	})
	m.start()
	m.album(m.private, "look")
	<-waits
	m.halt()
	if all := m.told("ruda"); len(all) > 0 {
		t.Errorf("told %q before the album was complete", all)
	}
	m.build()
	m.start2()
	if got := sizes(m.fact("ruda", "created look")); len(got) != 4 {
		t.Errorf("the files have %v bytes, want all four", got)
	}
	if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}
	if all := m.told("ruda"); len(all) != 1 {
		t.Errorf("told %q, want the album once", all)
	}
}
