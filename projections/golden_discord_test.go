package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// discordHistory has messages in Discord that were decided about, threads with those who take part in them, what was posted, and what agents have
// asked each other, as they are produced. Each type occurs with all members of its data filled.
func discordHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	const channel, thread, reports = "800000000000000001", "700000000000000001", "700000000000000002"
	add := func(stream, typ, agent string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 7}), Type: typ, AgentID: agent, Actor: eventstore.ActorSystem,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	heard := func(typ, id, place, agent, author, decision, reason string, change func(*coordination.DiscordInbound)) {
		add(coordination.MessageStream(id), typ, agent, filled(func(d *coordination.DiscordInbound) {
			d.MessageID, d.ChannelID, d.ThreadID, d.AuthorAgent, d.Decision, d.Reason, d.Order = id, channel, "", author, decision, reason, ""
			if place != channel {
				d.ThreadID = place
			}
			d.Agents, d.Turn, d.Answers, d.Observed, d.RunID, d.Text, d.System, d.MentionedAgents = nil, "", false, nil, "", "", false, nil
			change(d)
		}))
	}
	attends := func(typ, agent, reason string) {
		add(coordination.ThreadStream(thread), typ, agent, filled(func(d *coordination.ThreadParticipant) { d.ThreadID, d.AgentID, d.Reason = thread, agent, reason }))
	}
	holds := func(typ, place string) {
		add(coordination.ThreadStream(place), typ, "", filled(func(d *coordination.Thread) {
			d.ThreadID, d.ChannelID, d.Name, d.Kind, d.ReportOf, d.EffectID = place, channel, "", "", "", ""
			if d.UntilMs, d.Reason = 0, ""; typ == coordination.TypeThreadSuspended {
				d.UntilMs, d.Reason = goldenTime.UnixMilli(), "bot_rate"
			}
		}))
	}
	opens := func(effect, id, kind, reportOf, key string) {
		add(coordination.WorkStream(effect), coordination.TypeThreadCreated, "eden", filled(func(d *coordination.Thread) {
			d.ThreadID, d.ChannelID, d.Kind, d.ReportOf, d.EffectID, d.ReuseKey, d.CollabID = id, channel, kind, reportOf, effect, key, "collab-golden"
			d.Reason, d.UntilMs = "", 0
		}))
	}
	delivers := func(typ, effect, place, id, purpose string, change func(*coordination.DiscordOutbound)) {
		add(coordination.WorkStream(effect), typ, "eden", filled(func(d *coordination.DiscordOutbound) {
			d.EffectID, d.ChannelID, d.ThreadID, d.MessageID, d.Purpose, d.CollabID, d.ApprovalID = effect, channel, "", id, purpose, "", ""
			if place != channel {
				d.ThreadID = place
			}
			d.RunID, d.System, d.Found, d.ErrorClass, d.ErrorCode, d.Error, d.Forgets, d.Escalate = "", false, false, "", "", "", "", false
			change(d)
		}))
	}
	asks := func(typ, id string, change func(*coordination.A2ACollaborate)) {
		add(coordination.CollabStream(id), typ, "eden", filled(func(d *coordination.A2ACollaborate) {
			d.EventRole, d.CollabID, d.ThreadID, d.ParentChannelID, d.Again, d.Forgets, d.Redecide = coordination.RoleOrchestration, id, thread, channel, false, "", false
			d.Mode, d.ReuseKey, d.ErrorCode, d.ErrorMessage, d.Late, d.Escalate, d.MessageID, d.MessageIDs = "new_thread", "eden:seum", "", "", false, false, "", nil
			d.SentAt, d.RespondedAt, d.Base = 0, 0, goldenTime.UnixMilli()-3_600_000
			change(d)
		}))
	}
	tracks := func(typ, id string, attempt int) {
		add(coordination.CollabStream(id), typ, "eden", filled(func(d *coordination.Collab) {
			d.EventRole, d.CollabID, d.ThreadID, d.Attempt, d.Of, d.MessageID, d.Quiet, d.ErrorCode = coordination.RoleOrchestration, id, thread, attempt, 3, "5010", false, ""
			d.Reason, d.ResetAtMs = "", 0
		}))
	}
	same := func(*coordination.DiscordInbound) {}
	plain := func(*coordination.DiscordOutbound) {}

	heard(coordination.TypeDiscordInboundHandled, "5001", channel, "eden", "", "handler", "mentioned", func(d *coordination.DiscordInbound) {
		d.Order, d.Turn, d.RunID, d.Text, d.MentionedAgents = "primary", "human", "discord:5001:eden", "<@1002> <@1003> 배포해 줘", []string{"eden", "seum"}
	})
	heard(coordination.TypeDiscordInboundHandled, "5001", channel, "seum", "", "handler", "mentioned", func(d *coordination.DiscordInbound) {
		d.Order, d.RunID, d.Text = "secondary", "discord:5001:seum", "<@1002> <@1003> 배포해 줘"
	})
	heard(coordination.TypeDiscordInboundObserved, "5001", channel, "", "", "observer", "other_mentioned", func(d *coordination.DiscordInbound) {
		d.Agents = []string{"dajim", "ruda"}
	})
	delivers(coordination.TypeDiscordSendFailed, "discord:5001:eden/reply", channel, "", "reply", func(d *coordination.DiscordOutbound) {
		d.RunID, d.ErrorClass, d.Error = "discord:5001:eden", "unavailable", "503"
	})
	delivers(coordination.TypeDiscordSent, "discord:5001:eden/reply", channel, "5002", "reply", func(d *coordination.DiscordOutbound) { d.RunID = "discord:5001:eden" })
	delivers(coordination.TypeDiscordDeliveryUnknown, "discord:5001:seum/reply", channel, "", "reply", func(d *coordination.DiscordOutbound) {
		d.RunID, d.ErrorCode, d.Error = "discord:5001:seum", "delivery_unknown", "timeout"
	})
	heard(coordination.TypeDiscordInboundObserved, "5002", channel, "ruda", "eden", "observer", "sibling_message", same)
	heard(coordination.TypeDiscordInboundHandled, "5003", channel, "ruda", "", "handler", "default_agent", func(d *coordination.DiscordInbound) {
		d.Turn, d.RunID, d.Text, d.Observed = "human", "discord:5003:ruda", "어떻게 됐어?", []string{"5001", "5002"}
	})
	heard(coordination.TypeDiscordInboundDropped, "5004", channel, "", "", "dropped", "foreign_bot", func(d *coordination.DiscordInbound) { d.Agents = []string{"eden", "ruda"} })
	heard(coordination.TypeDiscordInboundDropped, "메시지 5005", channel, "", "", "dropped", "internal_error", same) // its stream has a hash for a name

	asks(coordination.TypeA2ACollaborateRequested, "collab-golden", func(d *coordination.A2ACollaborate) { d.Attempt, d.ThreadID = 0, "" })
	opens("collab/collab-golden", thread, "collab", "", "eden:seum")
	delivers(coordination.TypeDiscordSent, "collab/collab-golden", thread, "5006", "request", func(d *coordination.DiscordOutbound) { d.CollabID = "collab-golden" })
	asks(coordination.TypeA2ACollaborateSent, "collab-golden", func(d *coordination.A2ACollaborate) {
		d.MessageIDs, d.SentAt = []string{"5006"}, goldenTime.UnixMilli()-3_590_000
	})
	attends(coordination.TypeThreadParticipantRegistered, "eden", "collaborate")
	attends(coordination.TypeThreadParticipantRegistered, "seum", "collaborate")
	heard(coordination.TypeDiscordInboundHandled, "5006", thread, "seum", "eden", "handler", "mentioned", func(d *coordination.DiscordInbound) {
		d.Turn, d.RunID, d.Text = "bot", "discord:5006:seum", "<@1003> 배포해 줘"
	})
	tracks(coordination.TypeCollabReminded, "collab-golden", 1)
	delivers(coordination.TypeDiscordSent, "collab/collab-golden/remind/1", thread, "5010", "reminder", func(d *coordination.DiscordOutbound) { d.System = true })
	tracks(coordination.TypeCollabEscalated, "collab-golden", 1)
	heard(coordination.TypeDiscordInboundHandled, "5011", thread, "eden", "seum", "handler", "participant", func(d *coordination.DiscordInbound) {
		d.Turn, d.Answers, d.RunID, d.Text = "bot", true, "discord:5011:eden", "했어요"
	})
	asks(coordination.TypeA2ACollaborateResponded, "collab-golden", func(d *coordination.A2ACollaborate) {
		d.MessageID, d.RespondedAt, d.Late = "5011", goldenTime.UnixMilli()-3_580_000, true
	})
	asks(coordination.TypeA2ACollaborateRequested, "collab / 둘", func(d *coordination.A2ACollaborate) { d.Mode, d.Key, d.Content = "reuse_thread", "key-2", "content-2" })
	asks(coordination.TypeA2ACollaborateFailed, "collab / 둘", func(d *coordination.A2ACollaborate) { d.ErrorCode, d.ErrorMessage, d.Escalate = "denied", "403", true })
	add("agent/eden", coordination.TypeCollabRateLimited, "eden", filled(func(d *coordination.Collab) {
		d.EventRole, d.CollabID, d.ThreadID, d.MessageID, d.ResetAtMs = coordination.RoleOrchestration, "", "", "", goldenTime.UnixMilli()
	}))
	holds(coordination.TypeThreadSuspended, thread)
	holds(coordination.TypeThreadReleased, thread)
	holds(coordination.TypeThreadSuspended, channel)
	attends(coordination.TypeThreadParticipantExpired, "seum", "silence")

	opens("report/discord-conversation/9", reports, "report", "conv-golden", "")
	delivers(coordination.TypeDiscordSent, "report/discord-conversation/9", reports, "5020", "report", plain)
	add("sink/discord-conversation", coordination.TypeSinkAdvanced, "", filled(func(d *coordination.SinkAdvanced) {
		d.SinkID, d.EffectID, d.Seq, d.Stopped = "discord-conversation", "report/discord-conversation/9", 9, false
	}))
	delivers(coordination.TypeDiscordSendFailed, "report/discord-conversation/10", reports, "", "report", func(d *coordination.DiscordOutbound) {
		d.ErrorClass, d.ErrorCode, d.Escalate, d.Forgets = "not_found", "not_found", true, "conv-golden"
	})
	return appends
}
