package monitor_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// whatEach says what a message was to whom.
func whatEach(r *monitor.Routing) (list []string) {
	for i := range r.Agents {
		a := &r.Agents[i]
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", a.AgentID, a.Mode, a.Reason, a.Order)))
	}
	return list
}

// Who has answered a message is told with the run and what was posted of it; who has not, with why.
func TestRoutingSaysWhoAnsweredAndWhy(t *testing.T) {
	t.Parallel()
	const id, reply = "1404000000000000001", "1404000000000000002"
	b := setup(t)
	b.configured(t)
	b.heard(t, said(id, "<@"+edenBot+"> <@"+rudaBot+"> 배포를 봐줘 <#"+channelID+">", 0))
	b.ran(t, id, "eden", 0, coordination.TypeRunEnded, coordination.RunOver{Text: "봤습니다"})
	b.ran(t, id, "ruda", 0, coordination.TypeRunFailed, coordination.RunOver{ErrorClass: "overloaded", Error: "no model answers"})
	seq := b.posted(t, "reply/"+runOf(id, "eden"), "eden", reply, "", 1, coordination.DiscordOutbound{Purpose: delivery.Reply, RunID: runOf(id, "eden")})
	newContract(t, b).check(t, http.MethodGet, "/api/routing/"+id, http.StatusOK)
	r := get[monitor.Routing](t, b, "/api/routing/"+id, http.StatusOK)
	want := []string{"eden handler mentioned primary", "ruda handler mentioned secondary", "seum observer other_mentioned"}
	if diff := cmp.Diff(want, whatEach(&r)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	m := r.Message
	if m.Text != "@이든 @루다 배포를 봐줘 #…0002" || m.AuthorName != "민수" || m.At != int64(at(0)) || m.Link != "https://discord.com/channels/"+guildID+"/"+channelID+"/"+id {
		t.Errorf("the message is %+v", m)
	}
	if r.Explanation != "이든 and 루다 handle it. 이든 is mentioned first and leads." || !slices.Equal(r.Mentioned, []string{"eden", "ruda"}) || r.AsOfSeq != seq {
		t.Errorf("it says %q, mentioned %q, as of %d, want that of both, as of %d", r.Explanation, r.Mentioned, r.AsOfSeq, seq)
	}
	eden, ruda, seum := r.Agents[0], r.Agents[1], r.Agents[2]
	wantReplies := []monitor.RoutedReply{{MessageID: reply, Purpose: "reply", Link: "https://discord.com/channels/" + guildID + "/" + channelID + "/" + reply, At: int64(at(1))}}
	if diff := cmp.Diff(wantReplies, eden.Replies); diff != "" || eden.Run == nil || eden.Run.State != "ok" || eden.AgentName != "이든" || eden.AccountID != "eden" {
		t.Errorf("eden: %+v, run %+v (-want +got)\n%s", eden, eden.Run, diff)
	}
	if ruda.Run == nil || ruda.Run.State != "error" || ruda.Run.Error != "no model answers" || len(ruda.Replies) != 0 {
		t.Errorf("ruda: %+v, want a run that has failed and no reply", ruda)
	}
	if seum.Run != nil || seum.RunID != "" || seum.Explanation != "Other agents are mentioned, and it is not." {
		t.Errorf("seum: %+v, want one that only observes", seum)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "run_failed" || r.Warnings[0].AgentID != "ruda" || !strings.Contains(r.Warnings[0].Text, runOf(id, "ruda")) {
		t.Errorf("warnings %+v, want the run of ruda", r.Warnings)
	}
}

// A message that no one handled says of every agent why.
func TestRoutingSaysWhyNoAgentAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	direct := said("1404000000000000003", "안녕", 2)
	direct.GuildID, direct.AccountID = "", "eden"
	sibling := said("1404000000000000004", "끝났습니다", 3)
	sibling.Author = route.Author{ID: edenBot, Name: "이든", Bot: true}
	foreign := said("1404000000000000005", "beep", 4)
	foreign.Author = route.Author{ID: "1402000000000000009", Name: "bot", Bot: true}
	old := said("1404000000000000006", "여기는?", 5)
	old.ThreadID = "1400000000000000009"
	for _, c := range []struct {
		m      route.Message
		agents []string
		says   string
		warns  string
	}{
		{direct, []string{"eden dropped dm_not_paired"}, "No agent handles or remembers it. channels.discord.dmPolicy is pairing, and its author is neither approved nor in channels.discord.allowFrom: openclawd pairing list shows who waits.", ""},
		{sibling, []string{"ruda observer sibling_message", "seum observer sibling_message"},
			"No agent handles it. It was written by another agent in a channel and mentions no one.", ""},
		{foreign, []string{"eden dropped foreign_bot", "ruda dropped foreign_bot", "seum dropped foreign_bot"},
			"No agent handles or remembers it. It was written by a bot of no agent here, and channels.discord.allowBots ignores such messages.", ""},
		{old, []string{"eden observer mention_only", "ruda observer mention_only", "seum observer mention_only"},
			"No agent handles it. The thread is older than the log and its participants are unknown: agents answer there only if mentioned.",
			"participants_unknown"},
	} {
		b.heard(t, c.m)
		r := get[monitor.Routing](t, b, "/api/routing/"+c.m.ID, http.StatusOK)
		told := slices.DeleteFunc(whatEach(&r), func(s string) bool { return strings.Contains(s, "own_message") })
		if diff := cmp.Diff(c.agents, told); diff != "" || r.Explanation != c.says {
			t.Errorf("%s: it says %q, want %q (-want +got)\n%s", c.m.Text, r.Explanation, c.says, diff)
		}
		codes := ""
		for _, w := range r.Warnings {
			codes += w.Code
		}
		if codes != c.warns {
			t.Errorf("%s: warns of %q, want %q", c.m.Text, codes, c.warns)
		}
	}
}

// What should have followed from a decision and has not is told: a run, words, or that they stand in Discord.
func TestRoutingWarnsOfWhatDidNotFollow(t *testing.T) {
	t.Parallel()
	const refusedID, silentID, givenUpID = "1404000000000000001", "1404000000000000002", "1404000000000000003"
	b := setup(t)
	b.configured(t)
	b.heard(t, said(refusedID, "<@"+edenBot+"> 봐줘", 0), "eden")
	b.heard(t, said(silentID, "<@"+edenBot+"> 봐줘", 1))
	b.ran(t, silentID, "eden", 1, coordination.TypeRunEnded, coordination.RunOver{Text: "NO_REPLY"})
	b.heard(t, said(givenUpID, "<@"+edenBot+"> 봐줘", 2))
	b.ran(t, givenUpID, "eden", 2, coordination.TypeRunEnded, coordination.RunOver{Text: "봤습니다"})
	effect := "reply/" + runOf(givenUpID, "eden")
	b.happens(t, coordination.WorkStream(effect), coordination.TypeWorkScheduled, "eden", 3, coordination.WorkScheduled{EffectID: effect, Kind: delivery.Kind,
		Key: "discord/" + channelID, Pool: delivery.Pool, Owner: "eden"})
	b.happens(t, coordination.WorkStream(effect), coordination.TypeWorkLeased, "eden", 3, coordination.WorkAttempt{EffectID: effect, Attempt: 1})
	b.happens(t, coordination.WorkStream(effect), coordination.TypeWorkDead, "eden", 3, coordination.WorkAttempt{EffectID: effect, Attempt: 1, Error: "delivery_unknown"})
	newContract(t, b).check(t, http.MethodGet, "/api/routing/"+givenUpID, http.StatusOK)
	for id, want := range map[string]string{refusedID: "run_refused", silentID: "no_reply", givenUpID: "reply_unposted"} {
		r := get[monitor.Routing](t, b, "/api/routing/"+id, http.StatusOK)
		if len(r.Warnings) != 1 || r.Warnings[0].Code != want || r.Warnings[0].AgentID != "eden" || !strings.Contains(r.Warnings[0].Text, "이든") {
			t.Errorf("%s: warnings %+v, want %s of eden", id, r.Warnings, want)
		}
	}
}

// A message belongs to a request as the request itself, or as its answer.
func TestRoutingNamesTheRequest(t *testing.T) {
	t.Parallel()
	const answerID = "1404000000000000020"
	b := setup(t)
	b.configured(t)
	b.collaborated(t)
	asked := said(askedMessage, "<@"+edenBot+"> 리뷰 부탁", 1)
	asked.ThreadID, asked.ThreadName, asked.Author = threadID, "[협업] 루다 → 이든 · 리뷰", route.Author{ID: rudaBot, Name: "루다", Bot: true}
	b.heard(t, asked)
	answer := asked
	answer.ID, answer.Text, answer.Author, answer.At = answerID, "봤습니다", route.Author{ID: edenBot, Name: "이든", Bot: true}, int64(at(2))
	b.heard(t, answer)
	b.happens(t, coordination.CollabStream(collabID), coordination.TypeA2ACollaborateResponded, "ruda", 2, coordination.A2ACollaborate{CollabID: collabID,
		ThreadID: threadID, FromAgent: "ruda", ToAgent: "eden", MessageID: answerID, RespondedAt: int64(at(2))})
	contract := newContract(t, b)
	for id, want := range map[string]monitor.RoutedCollaboration{
		askedMessage: {CollabID: collabID, Part: "request", FromAgent: "ruda", ToAgent: "eden", Delivery: "sent", Status: "responded"},
		answerID:     {CollabID: collabID, Part: "answer", FromAgent: "ruda", ToAgent: "eden", Delivery: "sent", Status: "responded"},
	} {
		contract.check(t, http.MethodGet, "/api/routing/"+id, http.StatusOK)
		r := get[monitor.Routing](t, b, "/api/routing/"+id, http.StatusOK)
		if diff := cmp.Diff(&want, r.Collaboration); diff != "" {
			t.Errorf("%s (-want +got)\n%s", id, diff)
		}
		there := []monitor.RoutedParticipant{{AgentID: "ruda", Reason: "collaborate", Since: int64(at(1))}, {AgentID: "eden", Reason: "collaborate", Since: int64(at(1))}}
		if diff := cmp.Diff(there, r.ThreadParticipants); diff != "" || r.Message.ThreadName != "[협업] 루다 → 이든 · 리뷰" {
			t.Errorf("%s stands in %q (-want +got)\n%s", id, r.Message.ThreadName, diff)
		}
	}
}

// What is no id is told apart from an id of which no one knows.
func TestRoutingOfNoMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id, want := range map[string]struct {
		status int
		code   string
	}{
		"1404000000000000001":     {404, "not_found"},
		"latest":                  {400, "invalid_parameter"},
		"0":                       {400, "invalid_parameter"},
		"+1404000000000000001":    {400, "invalid_parameter"},
		"99999999999999999999999": {400, "invalid_parameter"},
		"%EC%9D%B4%EB%93%A0":      {400, "invalid_parameter"},
	} {
		r := get[refusal](t, b, "/api/routing/"+id, want.status)
		if r.Code != want.code || r.Field != "messageId" || r.Hint == "" {
			t.Errorf("%s: %+v, want %s of messageId with a hint", id, r, want.code)
		}
	}
}

type routingPage struct {
	Messages   []monitor.RoutedListing
	Count      int
	NextCursor *string
}

func (p *routingPage) ids() (ids []string) {
	for i := range p.Messages {
		ids = append(ids, p.Messages[i].MessageID)
	}
	return ids
}

// Messages are listed the newest first, each once over all pages, and selected by whom they concern.
func TestRoutingIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	var all []string
	for i := range 7 {
		m := said("140400000000000000"+strconv.Itoa(i+1), "안녕하세요", float64(i))
		if i == 3 {
			m.Text = "<@" + seumBot + "> 세움만"
		}
		b.heard(t, m)
		all = append([]string{m.ID}, all...)
	}
	contract := newContract(t, b)
	var seen []string
	path := "/api/routing?limit=3"
	for {
		contract.check(t, http.MethodGet, path, http.StatusOK)
		page := get[routingPage](t, b, path, http.StatusOK)
		seen = append(seen, page.ids()...)
		if page.NextCursor == nil {
			break
		}
		path = "/api/routing?limit=3&cursor=" + *page.NextCursor
	}
	if !slices.Equal(seen, all) {
		t.Errorf("pages have %q, want %q", seen, all)
	}
	for query, want := range map[string][]string{
		"agent=seum&mode=handler":                {"1404000000000000004"},
		"agent=RUDA&mode=observer":               {"1404000000000000004"},
		"place=" + threadID:                      nil,
		"place=" + channelID + "&limit=1":        {"1404000000000000007"},
		"agent=eden&mode=dropped":                nil,
		"agent=stranger":                         nil,
		"agent=eden&place=" + channelID + "&a=b": all,
	} {
		if page := get[routingPage](t, b, "/api/routing?"+query, http.StatusOK); !slices.Equal(page.ids(), want) {
			t.Errorf("%s: %q, want %q", query, page.ids(), want)
		}
	}
	first := get[routingPage](t, b, "/api/routing?limit=1", http.StatusOK).Messages[0]
	if first.Text != "안녕하세요" || len(first.Agents) != 3 || first.Agents[0].AgentID != "ruda" || first.Agents[0].Mode != route.Handler || first.DerivedFromSeq == 0 {
		t.Errorf("the first is %+v, want ruda to handle it, and two who observe", first)
	}
}

// reasonsOf are the codes of all verdicts that coordination/route declares: a new one needs a sentence.
func reasonsOf(t *testing.T) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../coordination/route/decision.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := spec.Type.(*ast.Ident); !is || of.Name != "Reason" {
			return true
		}
		for i, name := range spec.Names {
			if strings.HasPrefix(name.Name, "Enrol") || name.Name == "BotRate" || name.Name == "BotTurns" {
				continue // of participants and suspensions
			}
			code, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) < 25 {
		t.Fatalf("%q: too few to be all", codes)
	}
	return codes
}

func TestEveryReasonHasASentence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	said := map[string]string{}
	for i, code := range reasonsOf(t) {
		id := strconv.Itoa(1_404_000_000_000_000_100 + i)
		e := newEvent(t, coordination.TypeDiscordInboundObserved, "eden", int64(at(0)), coordination.DiscordInbound{MessageID: id, ChannelID: channelID,
			GuildID: guildID, AuthorID: minsu, Decision: "observer", Reason: code, Agents: []string{"eden"}})
		if _, err := b.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.MessageStream(id), Events: []eventstore.NewEvent{e}}); err != nil {
			t.Fatal(err)
		}
		r := get[monitor.Routing](t, b, "/api/routing/"+id, http.StatusOK)
		if len(r.Agents) != 1 {
			t.Fatalf("%s: %+v", code, r)
		}
		text := r.Agents[0].Explanation
		if strings.Contains(text, code+".") && strings.HasPrefix(text, "The reason is") || !strings.HasSuffix(text, ".") || said[text] != "" {
			t.Errorf("%s is explained as %q, which is no sentence of its own (also of %q)", code, text, said[text])
		}
		said[text] = code
	}
}
