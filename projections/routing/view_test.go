package routing_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// The views tell people who ask SQL the same as the answers do.
func TestViews(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, created(1, "eden", coordination.Thread{EffectID: "collab/c1", ThreadID: thread, ChannelID: channel, GuildID: guild, Name: "협업", Kind: "collab"}),
		created(2, "", coordination.Thread{EffectID: "report/1", ThreadID: otherThread, ChannelID: channel, GuildID: guild, Kind: "report", ReportOf: "c9"}))
	for _, e := range (route.Attendance{}).Collaborating(thread, team[1], team[2], base+3, route.HistoryTTL) {
		l.append(t, home(e))
	}
	l.decide(t, message("51", 4, "human", channel, "<@1002> <@1003> PR #7 `a.go` 봐"), func(d *route.Decision) { d.Verdicts[1].RunID = "r1" })
	lost := message("52", 5, "eden", thread, "안녕")
	for _, e := range route.Undecided(&lost) {
		l.append(t, home(e))
	}
	l.append(t, sent(6, "ruda", coordination.DiscordOutbound{EffectID: "collab/c1", ThreadID: thread, ChannelID: channel, MessageID: "61", AccountID: "acc-ruda",
		Purpose: "reminder", CollabID: "c1", System: true}),
		sent(7, "eden", coordination.DiscordOutbound{EffectID: "run/r1", ChannelID: channel, MessageID: "62", AccountID: "acc-eden", Purpose: "reply", RunID: "r1"}),
		event(8, coordination.ThreadStream(thread), coordination.TypeThreadSuspended, "", coordination.Thread{ThreadID: thread, ChannelID: channel, Reason: "bot_turns",
			UntilMs: base + 9}),
		event(9, coordination.ThreadStream(thread), coordination.TypeThreadParticipantExpired, "seum", coordination.ThreadParticipant{ThreadID: thread, AgentID: "seum"}))
	for query, wanted := range map[string][]string{
		`SELECT concat_ws(' ', message_id, channel_id, '|', thread_id, '|', guild_id, author_id, author_name, '|', author_agent, '|', text, '|', mentioned, system, handlers,
 observers, dropped, sent_at, sent_ms, seq) FROM v_discord_messages ORDER BY seq`: {
			`51 800000000000000001 | | 900000000000000001 2001 human | | <@1002> <@1003> PR #7 ` + "`a.go`" +
				` 봐 | ["eden","seum"] 0 2 2 0 2026-09-21T14:13:20.004Z 1790000000004 5`,
			`52 800000000000000001 | 700000000000000001 | 900000000000000001 1002 eden | | | 0 0 0 1 2026-09-21T14:13:20.005Z 1790000000005 8`,
		},
		`SELECT concat_ws(' ', message_id, agent, mode, reason, part, account_id, run_id, channel_id, thread_id, sent_at, sent_ms, seq) FROM v_discord_verdicts
 ORDER BY seq, agent`: {
			`51 eden handler mentioned primary acc-eden r1 800000000000000001 2026-09-21T14:13:20.004Z 1790000000004 5`,
			`51 seum handler mentioned secondary acc-seum 800000000000000001 2026-09-21T14:13:20.004Z 1790000000004 6`,
			`51 dajim observer other_mentioned 800000000000000001 2026-09-21T14:13:20.004Z 1790000000004 7`,
			`51 ruda observer other_mentioned 800000000000000001 2026-09-21T14:13:20.004Z 1790000000004 7`,
			`52  dropped internal_error 800000000000000001 700000000000000001 2026-09-21T14:13:20.005Z 1790000000005 8`,
		},
		`SELECT concat_ws(' ', thread_id, channel_id, guild_id, name, kind, report_of, participants, last_message_id, last_at, last_ms, suspended_until,
 suspended_until_ms, suspended_for, seq) FROM v_discord_threads ORDER BY seq`: {
			`700000000000000001 800000000000000001 900000000000000001 협업 collab 1 52 2026-09-21T14:13:20.006Z 1790000000006 2026-09-21T14:13:20.009Z 1790000000009 bot_turns 1`,
			`700000000000000002 800000000000000001 900000000000000001 report c9 0 2026-09-21T14:13:20.002Z 1790000000002 2`,
		},
		`SELECT concat_ws(' ', thread_id, agent, bot_user_id, reason, since, since_ms, left_at, left_ms, last_at, last_ms, seq) FROM v_discord_participants ORDER BY seq`: {
			`700000000000000001 eden 1002 collaborate 2026-09-21T14:13:20.003Z 1790000000003 2026-09-21T14:13:20.006Z 1790000000006 3`,
			`700000000000000001 seum 1003 collaborate 2026-09-21T14:13:20.003Z 1790000000003 2026-09-21T14:13:20.009Z 1790000000009 2026-09-21T14:13:20.006Z 1790000000006 4`,
		},
		`SELECT concat_ws(' ', agent, place_id, message_id, sender, '|', summary, '|', mentioned, mentioned_users, urls, pr_numbers, code_refs, sent_at, sent_ms, seq)
 FROM v_discord_observed ORDER BY seq, agent`: {
			`dajim 800000000000000001 51 human | @이든 @세움 PR #7 ` + "`a.go`" + ` 봐 | ["eden","seum"] ["1002","1003"] [7] ["a.go"] 2026-09-21T14:13:20.004Z 1790000000004 7`,
			`ruda 800000000000000001 51 human | @이든 @세움 PR #7 ` + "`a.go`" + ` 봐 | ["eden","seum"] ["1002","1003"] [7] ["a.go"] 2026-09-21T14:13:20.004Z 1790000000004 7`,
		},
		`SELECT concat_ws(' ', message_id, place_id, thread_id, agent, account_id, purpose, effect_id, run_id, collab_id, system, posted_at, posted_ms, seq)
 FROM v_discord_posts ORDER BY seq`: {
			`61 700000000000000001 700000000000000001 ruda acc-ruda reminder collab/c1 c1 1 2026-09-21T14:13:20.006Z 1790000000006 9`,
			`62 800000000000000001 eden acc-eden reply run/r1 r1 0 2026-09-21T14:13:20.007Z 1790000000007 10`,
		},
	} {
		want(t, query, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (found []string, err error) {
			rows, err := tx.QueryContext(ctx, query)
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return nil, err
				}
				found = append(found, line)
			}
			return found, rows.Err()
		}), wanted)
	}
}
