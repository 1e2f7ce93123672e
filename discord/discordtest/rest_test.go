package discordtest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestRefusalsAreInDiscordsWords(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	posted := m.post(m.channel.ID, "here")
	threads := "/channels/" + m.channel.ID + "/threads"
	messages, forum := "/channels/"+m.channel.ID+"/messages", m.guild.AddChannel("forum", discordtest.ChannelOptions{Type: discordtest.Forum})
	text := func(n int) string { return `{"content":"` + strings.Repeat("😀", n) + `"}` }
	for _, c := range []struct {
		method, path, body string
		status, code       int
		field              string
	}{
		{"GET", "/channels/1", "", 404, discordtest.CodeUnknownChannel, ""},
		{"GET", "/channels/general", "", 400, discordtest.CodeInvalidForm, "channel_id"},
		{"GET", "/guilds/1", "", 404, discordtest.CodeUnknownGuild, ""},
		{"GET", "/users/1", "", 404, discordtest.CodeUnknownUser, ""},
		{"GET", messages + "/1", "", 404, discordtest.CodeUnknownMessage, ""},
		{"GET", messages + "?limit=0", "", 400, discordtest.CodeInvalidForm, "limit"},
		{"GET", messages + "?limit=101", "", 400, discordtest.CodeInvalidForm, "limit"},
		{"GET", messages + "?before=yesterday", "", 400, discordtest.CodeInvalidForm, "before"},
		{"POST", messages, text(2000), 200, 0, ""},
		{"POST", messages, text(2001), 400, discordtest.CodeInvalidForm, "content"},
		{"POST", messages, `{"content":"  \n "}`, 400, discordtest.CodeEmptyMessage, ""},
		{"POST", messages, `{"content":`, 400, discordtest.CodeInvalidBody, ""},
		{"POST", messages, `{"content":"x","message_reference":{"message_id":"1"}}`, 400, discordtest.CodeInvalidForm, "message_reference"},
		{"PATCH", messages + "/" + posted.ID, `{"content":"y"}`, 403, discordtest.CodeNotYourMessage, ""},
		{"POST", "/channels/" + forum.ID + "/messages", `{"content":"x"}`, 400, 50008, ""},
		{"POST", threads, `{"name":"x","type":11,"auto_archive_duration":7}`, 400, discordtest.CodeInvalidForm, "auto_archive_duration"},
		{"PATCH", "/channels/" + m.channel.ID, `{"name":"mine"}`, 403, discordtest.CodeMissingPermissions, ""},
		{"POST", "/users/@me/channels", `{"recipient_id":"1"}`, 400, 50033, ""},
		{"GET", "/applications/" + m.eden.ID + "/commands", "", 403, 20012, ""},
		{"GET", "/nothing", "", 404, 0, ""},
	} {
		a := m.ask(m.ruda, c.method, c.path, c.body)
		if c.status == 200 {
			if a.status != 200 {
				t.Errorf("%s %s: %d %s, want 200", c.method, c.path, a.status, a.body)
			}
			continue
		}
		e := a.refusal(t)
		_, named := e.Fields[c.field]
		if e.Status != c.status || e.Code != c.code || e.Message == "" || named != (c.field != "") {
			t.Errorf("%s %s: %s with %d, want %d, code %d, field %q", c.method, c.path, a.body, a.status, c.status, c.code, c.field)
		}
	}
	if a := m.ask(nil, "GET", "/users/@me", ""); a.status != 401 {
		t.Errorf("without a token the answer is %d, want 401", a.status)
	}
	over := m.ask(m.ruda, "POST", messages, text(2001))
	want := `{"message":"Invalid Form Body","code":50035,` +
		`"errors":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]}}}`
	if diff := cmp.Diff(want, string(over.body)); diff != "" {
		t.Errorf("the body of an invalid form (-want +got):\n%s", diff)
	}
}

func TestForumsAndChannels(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	m.guild.Grant(m.ruda.ID, discordtest.ManageChannels)
	made := read[discordtest.Channel](t, m.ask(m.ruda, "POST", "/guilds/"+m.guild.ID+"/channels", `{"name":"ideas","type":15}`).body)
	a := m.ask(m.ruda, "POST", "/channels/"+made.ID+"/threads", `{"name":"first","message":{"content":"an idea"}}`)
	thread := read[discordtest.Channel](t, a.body)
	if a.status != http.StatusCreated || thread.Message == nil || thread.Message.ID != thread.ID || m.Messages(thread.ID)[0].Content != "an idea" {
		t.Errorf("the answer is %d %s, want the thread with its first message", a.status, a.body)
	}
	if a := m.ask(m.ruda, "PATCH", "/channels/"+made.ID, `{"topic":"anything"}`); a.status != 200 {
		t.Errorf("the change is answered %d %s", a.status, a.body)
	}
	var names []string
	for _, c := range read[[]discordtest.Channel](t, m.ask(m.eden, "GET", "/guilds/"+m.guild.ID+"/channels", "").body) {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"general", "ideas"}, names); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
	if a := m.ask(m.ruda, "DELETE", "/channels/"+made.ID, ""); a.status != 200 {
		t.Errorf("the deletion is answered %d %s", a.status, a.body)
	}
	if _, is := m.Channel(thread.ID); is {
		t.Error("the thread outlives its channel")
	}
}

// What a page of messages holds, said the slow way.
func TestPagesOfMessages(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	var ids []string
	for i := range 30 {
		ids = append(ids, m.post(m.channel.ID, strconv.Itoa(i)).ID)
	}
	rapid.Check(t, func(r *rapid.T) {
		limit, at := rapid.IntRange(1, 100).Draw(r, "limit"), rapid.IntRange(0, 29).Draw(r, "at")
		kind := rapid.SampledFrom([]string{"", "before", "after", "around"}).Draw(r, "kind")
		var want []string
		switch kind {
		case "":
			want = ids[max(0, 30-limit):]
		case "before":
			want = ids[max(0, at-limit):at]
		case "after":
			want = ids[at+1 : min(30, at+1+limit)]
		case "around":
			from := max(0, at-limit/2)
			want = ids[from:min(30, from+limit)]
		}
		want = slices.Clone(want)
		slices.Reverse(want)
		query := "?limit=" + strconv.Itoa(limit)
		if kind != "" {
			query += "&" + kind + "=" + ids[at]
		}
		var got []string
		for _, p := range read[[]discordtest.Message](t, m.ask(m.ruda, "GET", "/channels/"+m.channel.ID+"/messages"+query, "").body) {
			got = append(got, p.ID)
		}
		if !slices.Equal(want, got) {
			r.Fatalf("%s: %v, want %v", query, got, want)
		}
	})
}

func TestTheSameActsGiveTheSameIDs(t *testing.T) {
	t.Parallel()
	acts := func(m *team) []string {
		thread := must(t, first(m.bora.StartThread(m.channel.ID, "topic")), nil)
		posted := m.post(thread.ID, "one")
		if a := m.ask(m.ruda, "POST", "/channels/"+thread.ID+"/messages", `{"content":"two"}`); a.status != 200 {
			t.Fatalf("posting is answered %d", a.status)
		}
		return []string{m.guild.ID, m.ruda.Token, thread.ID, posted.ID, m.Messages(thread.ID)[1].ID, m.Messages(thread.ID)[1].Timestamp}
	}
	one, two := acts(newTeam(t, discordtest.Options{})), acts(newTeam(t, discordtest.Options{}))
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("two servers with the same clock differ:\n%s", diff)
	}
}

func TestServersDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	one, two := newTeam(t, discordtest.Options{}), newTeam(t, discordtest.Options{})
	ctx := one.context()
	a, b := one.client(one.ruda, intents).start(), two.client(two.ruda, intents).start()
	one.post(one.channel.ID, "one")
	two.post(two.channel.ID, "two")
	if diff := cmp.Diff([][]string{{"one"}, {"two"}}, [][]string{a.contents(ctx, 1), b.contents(ctx, 1)}); diff != "" {
		t.Errorf("what they were told (-want +got):\n%s", diff)
	}
}

func TestNothingLeavesTheTest(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	response, err := (&http.Client{Transport: m.Transport()}).Get("https://example.com/")
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, discordtest.ErrOutside) {
		t.Errorf("a request for another host says %v, want ErrOutside", err)
	}
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.WaitMessage(ctx, m.channel.ID, func(discordtest.Message) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting says %v, want that it was cancelled", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := m.WaitThread(context.Background(), m.channel.ID, func(discordtest.Channel) bool { return true })
		waiting <- err
	}()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, discordtest.ErrClosed) {
		t.Errorf("waiting says %v, want that the server is closed", err)
	}
}

func TestRequestsAreKeptInOrder(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	session := m.rest(m.ruda)
	for _, do := range []func() error{
		func() error { _, err := session.User("@me"); return err },
		func() error { _, err := session.ChannelMessageSend(m.channel.ID, "hi"); return err },
		func() error { return session.ChannelTyping(m.channel.ID) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range m.Requests() {
		if r.Bot != m.ruda.ID || !r.Over {
			t.Errorf("the request is %+v, want ruda's, answered", r)
		}
		got = append(got, r.Route+" "+strconv.Itoa(r.Status))
	}
	if diff := cmp.Diff([]string{"GET /users/{user} 200", sending + " 200", "POST /channels/{channel}/typing 204"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if r := m.Requests()[1]; !strings.Contains(string(r.Body), `"content":"hi"`) || r.Channel != m.channel.ID {
		t.Errorf("the request is %+v, want its body and channel", r)
	}
}

// What the library reads of answers that no other test looks at.
func TestTheLibraryReadsWhatIsAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	session := m.rest(m.ruda)
	for name, ask := range map[string]func() (string, error){
		"gateway of bots": func() (string, error) { g, err := session.GatewayBot(); return g.URL, err },
		"application":     func() (string, error) { a, err := session.Application("@me"); return a.ID, err },
		"guild":           func() (string, error) { g, err := session.Guild(m.guild.ID); return g.Name, err },
		"guilds":          func() (string, error) { g, err := session.UserGuilds(10, "", "", false); return g[0].Name, err },
		"member": func() (string, error) {
			u, err := session.GuildMember(m.guild.ID, m.bora.ID)
			return u.User.Username, err
		},
		"members": func() (string, error) {
			u, err := session.GuildMembers(m.guild.ID, m.seum.ID, 10)
			return u[0].User.Username, err
		},
		"roles":   func() (string, error) { r, err := session.GuildRoles(m.guild.ID); return r[0].Name, err },
		"channel": func() (string, error) { c, err := session.Channel(m.channel.ID); return c.Name, err },
		"threads": func() (string, error) {
			l, err := session.ThreadsActive(m.channel.ID)
			return strconv.Itoa(len(l.Threads)), err
		},
	} {
		want := map[string]string{"gateway of bots": m.GatewayURL() + "/", "application": m.ruda.ID, "guild": "lab", "guilds": "lab", "member": "bora",
			"members": "bora", "roles": "@everyone", "channel": "general", "threads": "0"}[name]
		if got, err := ask(); err != nil || strings.TrimSuffix(got, "/") != strings.TrimSuffix(want, "/") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := session.GuildMembers(m.guild.ID, "", 10); err != nil {
		t.Error(err)
	}
	_, err := m.rest(m.seum).GuildMember(m.guild.ID, "1")
	wantRefusal(t, err, http.StatusNotFound, discordtest.CodeUnknownMember)
}
