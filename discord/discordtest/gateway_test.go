package discordtest_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// wantNumbers sees that a client was told the messages 0 to n-1, each once and in order.
func wantNumbers(t *testing.T, ctx context.Context, c *client, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, strconv.Itoa(i))
	}
	if diff := cmp.Diff(want, c.contents(ctx, n)); diff != "" {
		t.Errorf("%s was told (-want +got):\n%s", c.bot.Username, diff)
	}
}

func TestADroppedSocketLosesNothing(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda, eden := m.client(m.ruda, intents).start(), m.client(m.eden, intents).start()
	n := 0
	post := func(some int) {
		for range some {
			m.post(m.channel.ID, strconv.Itoa(n))
			n++
		}
	}
	for name, trouble := range map[string]func(){
		"dropped":   m.ruda.Drop,
		"closed":    func() { m.ruda.CloseSockets(4000) },
		"reconnect": m.ruda.AskToReconnect,
	} {
		post(20)
		if err := m.WaitHeartbeat(ctx, m.ruda.ID); err != nil {
			t.Fatal(err)
		}
		trouble()
		post(20)
		ruda.contents(ctx, n)
		if err := m.WaitConnected(ctx, m.ruda.ID); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	wantNumbers(t, ctx, ruda, n)
	wantNumbers(t, ctx, eden, n)
	if all := ruda.told("READY"); len(all) != 1 {
		t.Errorf("ruda began %d sessions, want one that was resumed", len(all))
	}
	if all := ruda.until(ctx, "RESUMED", 3); len(all) != 3 { // comes after the messages that it replays
		t.Errorf("ruda resumed %d times, want three times", len(all))
	}
	if all := eden.told("RESUMED"); len(all) != 0 {
		t.Error("eden, whose socket was not touched, resumed")
	}
}

func TestFaultsOfDispatches(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda, eden := m.client(m.ruda, intents).start(), m.client(m.eden, intents).start()
	n := 0
	post := func() {
		m.post(m.channel.ID, strconv.Itoa(n))
		n++
	}
	for _, effect := range []discordtest.DispatchEffect{
		discordtest.Drop, discordtest.Duplicate, discordtest.Postpone, discordtest.CutBefore, discordtest.CutAfter,
	} {
		if err := m.WaitHeartbeat(ctx, m.ruda.ID); err != nil {
			t.Fatal(err)
		}
		fault := m.InjectDispatch(discordtest.DispatchFault{
			Match: discordtest.DispatchMatch{Bot: m.ruda.ID, Type: "MESSAGE_CREATE", Channel: m.channel.ID}, After: 1, Effect: effect})
		for range 3 {
			post()
		}
		if err := m.Until(ctx, func() bool { return fault.Hits() == 1 }); err != nil {
			t.Fatal(err)
		}
		if _, err := m.WaitDispatch(ctx, m.ruda.ID, "MESSAGE_CREATE", func(d discordtest.Dispatch) bool {
			return read[discordtest.Message](t, d.Data).Content == strconv.Itoa(n-1)
		}); err != nil {
			t.Fatal(err)
		}
		fault.Remove()
	}
	// of 0 1 2 the second is dropped; 4 comes twice; 7 after 8; the sockets that are cut lose nothing
	if diff := cmp.Diff([]string{"0", "2", "3", "4", "4", "5", "6", "8", "7", "9", "10", "11", "12", "13", "14"}, ruda.contents(ctx, 15)); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
	wantNumbers(t, ctx, eden, n)
	ruda.until(ctx, "RESUMED", 2)
	m.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Bot: m.ruda.ID, Type: "MESSAGE_CREATE"}, Effect: discordtest.Postpone})
	m.post(m.channel.ID, "late")
	m.ruda.Flush()
	if all := ruda.contents(ctx, 16); all[15] != "late" {
		t.Errorf("ruda was told %v, want what was postponed at the end", all)
	}
}

func TestSessionsThatAreForgottenBeginAgain(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda := m.client(m.ruda, intents).start()
	for i, trouble := range []func(){m.ruda.Invalidate, func() {
		m.ruda.CloseSockets(4000)
		m.ruda.ForgetSessions()
	}} {
		if err := m.WaitHeartbeat(ctx, m.ruda.ID); err != nil {
			t.Fatal(err)
		}
		trouble()
		ruda.until(ctx, "READY", i+2)
		if err := m.WaitConnected(ctx, m.ruda.ID); err != nil {
			t.Fatal(err)
		}
	}
	m.post(m.channel.ID, "welcome back")
	if diff := cmp.Diff([]string{"welcome back"}, ruda.contents(ctx, 1)); diff != "" {
		t.Errorf("ruda was told (-want +got):\n%s", diff)
	}
}

func TestABotThatIsOffline(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda := m.client(m.ruda, intents)
	ruda.start()
	m.ruda.Refuse(http.StatusForbidden)
	if err := m.WaitGone(ctx, m.ruda.ID); err != nil {
		t.Fatal(err)
	}
	_, err := ruda.ChannelMessageSend(m.channel.ID, "anybody?")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingAccess)
	m.ruda.RefuseAsUnknown()
	_, err = ruda.ChannelMessageSend(m.channel.ID, "anybody?")
	wantRefusal(t, err, http.StatusUnauthorized, 0)
	fresh := m.client(m.ruda, intents)
	if err := fresh.Open(); !websocket.IsCloseError(err, 4004) {
		t.Errorf("opening says %v, want the socket closed with 4004", err)
	}
	m.ruda.Accept()
	fresh.start()
	if _, err := fresh.ChannelMessageSend(m.channel.ID, "back"); err != nil {
		t.Error(err)
	}
}

func TestASilentHeartbeatEndsTheSession(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{Heartbeat: 20 * time.Millisecond})
	ctx := m.context()
	ruda := m.client(m.ruda, intents).start()
	m.ruda.MuteAcks(true)
	if err := m.WaitGone(ctx, m.ruda.ID); err != nil {
		t.Fatal(err)
	}
	m.ruda.MuteAcks(false)
	ruda.until(ctx, "READY", 2) // the library says goodbye with 1000, which ends the session
}

func TestMembersAreTold(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda := m.client(m.ruda, intents|discordgo.IntentGuildMembers).start()
	if err := ruda.RequestGuildMembers(m.guild.ID, "", 0, "mine", false); err != nil {
		t.Fatal(err)
	}
	if all := ruda.until(ctx, "GUILD_MEMBERS_CHUNK", 1); len(all) != 1 {
		t.Errorf("%d chunks, want one", len(all))
	}
	late := m.AddHuman("late")
	m.guild.Join(late.ID)
	ruda.until(ctx, "GUILD_MEMBER_ADD", 1)
}

// wire is a gateway client of its own: it resumes at once, where the library waits a second.
type wire struct {
	t       *rapid.T
	m       *team
	bot     *discordtest.Bot
	conn    *websocket.Conn
	session string
	seq     int64
	heard   []string
}

type frame struct {
	Op   int    `json:"op"`
	Type string `json:"t"`
	Seq  int64  `json:"s"`
	Data struct {
		SessionID string `json:"session_id"`
		Content   string `json:"content"`
	} `json:"d"`
}

func (w *wire) connect() {
	conn, _, err := w.m.Dialer().Dial(w.m.GatewayURL(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.conn = conn
	hello := fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":%d}}`, "Bot "+w.bot.Token, intents)
	if w.session != "" {
		hello = fmt.Sprintf(`{"op":6,"d":{"token":%q,"session_id":%q,"seq":%d}}`, w.bot.Token, w.session, w.seq)
	}
	if err := conn.WriteMessage(websocket.TextMessage, []byte(hello)); err != nil {
		_ = conn.Close() // cut already: hear finds out
	}
}

// hear reads until a message with the content has come, and resumes whenever the socket ends.
func (w *wire) hear(until string) {
	for {
		_ = w.conn.SetReadDeadline(time.Now().Add(testscale.Patience))
		var f frame
		if err := w.conn.ReadJSON(&f); err != nil {
			_ = w.conn.Close()
			w.connect()
			continue
		}
		switch {
		case f.Op == 9:
			w.t.Fatal("the session is invalid")
		case f.Op != 0:
			continue
		case f.Seq != w.seq+1:
			w.t.Fatalf("after %d comes %d", w.seq, f.Seq)
		case f.Type == "READY":
			w.session = f.Data.SessionID
		case f.Type == "MESSAGE_CREATE":
			w.heard = append(w.heard, f.Data.Content)
		}
		w.seq = f.Seq
		if f.Type == "MESSAGE_CREATE" && f.Data.Content == until {
			return
		}
	}
}

func TestResumedSessionsHearEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := newTeam(t, discordtest.Options{})
		defer func() { _ = m.Close() }()
		w := &wire{t: r, m: m, bot: m.ruda}
		w.connect()
		if err := m.WaitConnected(m.context(), m.ruda.ID); err != nil {
			r.Fatal(err)
		}
		m.post(m.channel.ID, "begin")
		w.hear("begin")
		want := []string{"begin"}
		post := func() {
			want = append(want, "m"+strconv.Itoa(len(want)))
			m.post(m.channel.ID, want[len(want)-1])
		}
		cut := func(effect discordtest.DispatchEffect) func(*rapid.T) {
			return func(r *rapid.T) {
				m.InjectDispatch(discordtest.DispatchFault{
					Match: discordtest.DispatchMatch{Bot: m.ruda.ID}, After: rapid.IntRange(0, 3).Draw(r, "after"), Effect: effect})
			}
		}
		acts := []func(*rapid.T){func(*rapid.T) { post() }, func(*rapid.T) { m.ruda.Drop() }, func(*rapid.T) { m.ruda.CloseSockets(4000) },
			cut(discordtest.CutBefore), cut(discordtest.CutAfter), func(*rapid.T) {
				post()
				w.hear(want[len(want)-1])
			}}
		for range rapid.IntRange(1, 30).Draw(r, "acts") {
			acts[rapid.IntRange(0, len(acts)-1).Draw(r, "act")](r)
		}
		post()
		w.hear(want[len(want)-1])
		_ = w.conn.Close()
		if diff := cmp.Diff(want, w.heard); diff != "" {
			r.Fatalf("heard (-want +got):\n%s", diff)
		}
	})
}

func TestWholePayloadsAreCompressedForThoseWhoAsk(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		m := newTeam(t, discordtest.Options{})
		conn, _, err := m.Dialer().Dial(m.GatewayURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		hello := fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":%d,"compress":%t}}`, m.ruda.Token, intents, asks)
		if err := conn.WriteMessage(websocket.TextMessage, []byte(hello)); err != nil {
			t.Fatal(err)
		}
		var kinds []int
		for range 3 { // hello, READY, GUILD_CREATE, of which the last is long
			kind, _, err := conn.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, kind)
		}
		want := []int{websocket.TextMessage, websocket.TextMessage, websocket.TextMessage}
		if asks {
			want[2] = websocket.BinaryMessage
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("asked %t (-want +got):\n%s", asks, diff)
		}
	}
}

func TestSocketsAreClosedInDiscordsWords(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	identify := fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":1}}`, m.ruda.Token)
	for name, c := range map[string]struct {
		says []string
		code int
	}{
		"no JSON":         {[]string{`{`}, 4002},
		"not identified":  {[]string{`{"op":3}`}, 4003},
		"a wrong token":   {[]string{`{"op":2,"d":{"token":"x","intents":1}}`}, 4004},
		"twice":           {[]string{identify, identify}, 4005},
		"an unknown op":   {[]string{identify, `{"op":99}`}, 4001},
		"not granted":     {[]string{fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":32768}}`, m.seum.Token)}, 4014},
		"no such intents": {[]string{fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":-1}}`, m.ruda.Token)}, 4013},
	} {
		conn, _, err := m.Dialer().Dial(m.GatewayURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.says {
			if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
		_ = conn.Close()
		if !websocket.IsCloseError(err, c.code) {
			t.Errorf("%s: the socket ends with %v, want %d", name, err, c.code)
		}
	}
}
