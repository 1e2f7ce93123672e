package monitor_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

type collaborationPage struct {
	Collaborations []monitor.CollaborationAnswer
	Count, Total   int
	NextCursor     *string
}

func (p *collaborationPage) ids() (ids []string) {
	for i := range p.Collaborations {
		ids = append(ids, p.Collaborations[i].CollabID)
	}
	return ids
}

// requested stores a request that was taken on and nothing more.
func (b *testBundle) requested(t testing.TB, id, from, to string, minute float64) {
	t.Helper()
	b.happens(t, coordination.CollabStream(id), coordination.TypeA2ACollaborateRequested, from, minute, coordination.A2ACollaborate{
		Context: coordination.Context{EventRole: coordination.RoleOrchestration}, CollabID: id, FromAgent: from, ToAgent: to, Key: "k" + id, Content: "h", Base: int64(at(minute)),
		Mode: "new_thread", ParentChannelID: channelID, Message: "도와줘", SessionKey: "agent:" + from + ":main"})
}

// A request is told with where it stands, what was asked and by whom, with names for mentions, and what was posted for it.
func TestCollaborationIsShown(t *testing.T) {
	t.Parallel()
	const reminder = "1404000000000000061"
	b := setup(t)
	b.configured(t)
	b.collaborated(t)
	b.posted(t, "collab/c1/remind/1", "ruda", reminder, threadID, 6, coordination.DiscordOutbound{Purpose: delivery.Reminder, CollabID: collabID, System: true})
	seq := b.happens(t, coordination.CollabStream(collabID), coordination.TypeCollabReminded, "ruda", 6, coordination.Collab{CollabID: collabID, FromAgent: "ruda",
		ToAgent: "eden", ThreadID: threadID, Attempt: 1, Of: 3, Minutes: 5, MessageID: reminder})
	newContract(t, b).check(t, http.MethodGet, "/api/collaborations/c1", http.StatusOK)
	got := get[monitor.ShownCollaboration](t, b, "/api/collaborations/c1", http.StatusOK)
	sent, reminded := int64(at(1)), int64(at(6))
	want := monitor.CollaborationAnswer{CollabID: collabID, Channel: "discord", FromAgent: "ruda", ToAgent: "eden", Delivery: "sent", Status: "pending", Route: "new_thread",
		ThreadID: threadID, ThreadName: "[협업] 루다 → 이든 · 리뷰", ChannelID: channelID, GuildID: guildID, Message: "@이든 리뷰 부탁", MessageIDs: []string{askedMessage},
		SystemIDs: []string{reminder}, SessionKey: "agent:ruda:main", RunID: "r1", WorkSessionID: "ws_1", AcceptedAt: int64(at(1)), SentAt: &sent, Step: 1,
		LastAttemptAt: &reminded, Link: "https://discord.com/channels/" + guildID + "/" + threadID + "/" + askedMessage, DerivedFromSeq: seq}
	if diff := cmp.Diff(want, got.Collaboration); diff != "" || got.AsOfSeq != seq {
		t.Errorf("as of %d (-want +got):\n%s", got.AsOfSeq, diff)
	}
	if len(got.Posts) != 2 || got.Posts[0].MessageID != askedMessage || got.Posts[1].MessageID != reminder || got.Posts[1].Purpose != "reminder" {
		t.Errorf("posts are %+v, want the request and the reminder", got.Posts)
	}
	if r := get[refusal](t, b, "/api/collaborations/c2", http.StatusNotFound); r.Code != "not_found" || r.Hint == "" {
		t.Errorf("of no request: %+v", r)
	}
}

// Requests are listed the newest first, over pages, and selected by how they stand.
func TestCollaborationsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.collaborated(t)
	b.requested(t, "c2", "eden", "seum", 2)
	b.requested(t, "c3", "seum", "eden", 3)
	b.happens(t, coordination.CollabStream("c3"), coordination.TypeA2ACollaborateFailed, "seum", 3, coordination.A2ACollaborate{CollabID: "c3", FromAgent: "seum", ToAgent: "eden",
		ErrorCode: "permission_denied"})
	contract := newContract(t, b)
	for query, want := range map[string][]string{"": {"c3", "c2", "c1"}, "?status=pending": {"c1"}, "?delivery=accepted": {"c2"}, "?delivery=failed": {"c3"},
		"?from=EDEN": {"c2"}, "?to=eden": {"c3", "c1"}, "?threadId=" + threadID: {"c1"}, "?workSessionId=ws:ws_1": {"c1"}, "?status=responded": nil} {
		contract.check(t, http.MethodGet, "/api/collaborations"+query, http.StatusOK)
		page := get[collaborationPage](t, b, "/api/collaborations"+query, http.StatusOK)
		if !slices.Equal(page.ids(), want) || page.Total != len(want) || page.NextCursor != nil {
			t.Errorf("%q: %q of %d, want %q", query, page.ids(), page.Total, want)
		}
	}
	first := get[collaborationPage](t, b, "/api/collaborations?limit=2", http.StatusOK)
	if !slices.Equal(first.ids(), []string{"c3", "c2"}) || first.Total != 3 || first.NextCursor == nil || first.Collaborations[0].Code != "permission_denied" {
		t.Fatalf("the first page is %+v, want c3, which was not permitted, and c2 of three", first)
	}
	if rest := get[collaborationPage](t, b, "/api/collaborations?limit=2&cursor="+*first.NextCursor, http.StatusOK); !slices.Equal(rest.ids(), []string{"c1"}) || rest.Total != 3 {
		t.Errorf("the second page is %+v, want c1 of three", rest)
	}
}

// Clients are notified once of each event of a request, with its present state. Imported events are history and not
// sent.
func TestCollaborationsAreToldAsTheyHappen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.importing(t, event("a2a.collaborate.requested", "ruda", 0, `"collabId":"old","fromAgent":"ruda","toAgent":"eden"`))
	b.appending(t, coordination.TypeA2ACollaborateSent, `{"collabId":"elsewhere","fromAgent":"ruda","toAgent":"eden"}`)
	in := coordination.Context{EventRole: coordination.RoleOrchestration}
	stream, data := coordination.CollabStream(collabID), coordination.A2ACollaborate{Context: in, CollabID: collabID, FromAgent: "ruda", ToAgent: "eden", Key: "k", Content: "h",
		Base: int64(at(1)), Mode: "new_thread", ThreadID: threadID, MessageIDs: []string{askedMessage}, SentAt: int64(at(1)), Tracked: true}
	answer := coordination.A2ACollaborate{Context: in, CollabID: collabID, ThreadID: threadID, FromAgent: "ruda", ToAgent: "eden", MessageID: "1404000000000000070",
		RespondedAt: int64(at(2))}
	r, err := b.db.Append(t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		newEvent(t, coordination.TypeA2ACollaborateRequested, "ruda", int64(at(1)), data),
		newEvent(t, coordination.TypeA2ACollaborateSent, "ruda", int64(at(1)), data),
		newEvent(t, coordination.TypeA2ACollaborateResponded, "ruda", int64(at(2)), answer),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []monitor.CollaborationNews{}
	for i, what := range []string{"requested", "sent", "responded"} {
		want = append(want, monitor.CollaborationNews{Event: what, CollabID: collabID, FromAgent: "ruda", ToAgent: "eden", ThreadID: threadID, Delivery: "sent",
			Status: "responded", Seq: r.Seq - 2 + int64(i)})
	}
	var got []monitor.CollaborationNews
	for len(got) < len(want) {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatalf("%v after %+v", err, got)
		}
		var f struct {
			Type, AgentID string
			Data          json.RawMessage
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		if f.Type != "collaboration_update" {
			continue
		}
		var news monitor.CollaborationNews
		if err := json.Unmarshal(f.Data, &news); err != nil || f.AgentID != "ruda" {
			t.Fatalf("%s: %v", text, err)
		}
		got = append(got, news)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
