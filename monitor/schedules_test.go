package monitor_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// planner notes what it is to do, and answers as it is told to.
type planner struct {
	asked string
	ran   schedule.Ran
	err   error
}

func (d *planner) Now(_ context.Context, id string, onlyDue bool, by string) (schedule.Ran, error) {
	d.asked = fmt.Sprintf("run %s by %s, only due %v", id, by, onlyDue)
	return d.ran, d.err
}

func (d *planner) Enable(_ context.Context, id string, enabled bool, by string) (schedules.Row, bool, error) {
	d.asked = fmt.Sprintf("enable %s %v by %s", id, enabled, by)
	job := jobNamed(id)
	job.Enabled = enabled
	return schedules.Row{State: schedule.State{Job: job}}, true, d.err
}

func (d *planner) On() bool { return true }

func jobNamed(id string) coordination.CronJob {
	return coordination.CronJob{ID: id, Name: "report " + id, AgentID: "eden", Enabled: true, Schedule: coordination.CronSchedule{Kind: "every", EveryMs: 60_000},
		SessionTarget: schedule.TargetIsolated, WakeMode: schedule.WakeNow, Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: strings.Repeat("말", 600)}}
}

// An operation on a job is passed on with who asked; a refusal has a status and a code.
func TestJobsAreOperated(t *testing.T) {
	t.Parallel()
	refusing := func(reason string) error {
		return &schedule.Refusal{Reason: reason, Field: "id", Value: "j1", HintText: "do this"}
	}
	for name, c := range map[string]struct {
		verb, body string
		ran        schedule.Ran
		err        error
		asked      string
		status     int
		says       string
	}{
		"run":            {"run", `{"by":" 민수 "}`, schedule.Ran{RunID: "cron:j1:m5"}, nil, "run j1 by 민수, only due false", 200, `{"ok":true,"started":true,"runId":"cron:j1:m5"}`},
		"running":        {"run", "", schedule.Ran{Reason: "already-running"}, nil, "run j1 by api, only due false", 200, `{"ok":true,"started":false,"reason":"already-running"}`},
		"pause":          {"pause", `{}`, schedule.Ran{}, nil, "enable j1 false by api", 200, `"changed":true,"job":{"id":"j1"`},
		"resume":         {"resume", `{"by":"kim"}`, schedule.Ran{}, nil, "enable j1 true by kim", 200, `"enabled":true`},
		"a number":       {"run", `{"by":5}`, schedule.Ran{}, nil, "", 400, `"code":"invalid_parameter","field":"by"`},
		"another member": {"run", `{"mode":"due"}`, schedule.Ran{}, nil, "", 400, `"field":"mode"`},
		"unknown":        {"pause", "", schedule.Ran{}, refusing(schedule.CodeUnknown), "enable j1 false by api", 404, `"code":"not_found","field":"id"`},
		"a heartbeat":    {"pause", "", schedule.Ran{}, refusing(schedule.CodeFixed), "enable j1 false by api", 409, `"code":"not_allowed"`},
		"over":           {"resume", "", schedule.Ran{}, refusing(schedule.CodeInvalid), "enable j1 true by api", 409, `"code":"wrong_state"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &planner{ran: c.ran, err: c.err}
			b := setup(t, func(o *monitor.Options) { o.Schedules = d })
			answer := b.from("127.0.0.1:1", http.MethodPost, "/api/schedules/j1/"+c.verb, c.body)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.says) || d.asked != c.asked {
				t.Errorf("%d %s, asked %q; want %d with %s, asked %q", answer.Code, answer.Body, d.asked, c.status, c.says, c.asked)
			}
			newContract(t, b).held(t, operation{http.MethodPost, "/api/schedules/{id}/" + c.verb}, c.status, answer)
			d.asked = ""
			if answer := b.from("192.0.2.7:1", http.MethodPost, "/api/schedules/j1/"+c.verb, c.body); answer.Code != http.StatusUnauthorized || d.asked != "" {
				t.Errorf("from elsewhere: %d, asked %q", answer.Code, d.asked)
			}
		})
	}
}

// job tells a log of a job that has run twice and is running.
func (b *testBundle) job(t *testing.T, id string, next int64) {
	t.Helper()
	stream := schedule.Stream(id)
	happens := func(typ string, data any) { b.happens(t, stream, typ, "eden", 1, data) }
	happens(coordination.TypeCronJobAdded, coordination.CronJobChanged{Job: jobNamed(id), NextAtMs: next, By: "kim"})
	for i, delivery := range []string{schedule.Delivered, schedule.NotDelivered} {
		run := schedule.RunID(id, int64(i), false)
		happens(coordination.TypeCronRunDue, coordination.CronRunDue{JobID: id, RunID: run, DueAtMs: int64(i), AtMs: int64(100 * i), NextAtMs: next})
		happens(coordination.TypeCronRunFinished, coordination.CronRunFinished{JobID: id, RunID: run, Status: []string{schedule.OK, schedule.Error}[i], Summary: "done", AtMs: int64(100*i + 7),
			DurationMs: 7, Usage: &coordination.SessionUsage{Input: 3, Output: 4, Total: 7}, DeliveryStatus: delivery, DeliveryError: "no place"})
	}
	happens(coordination.TypeCronRunDue, coordination.CronRunDue{JobID: id, RunID: schedule.RunID(id, 5, true), DueAtMs: 5, AtMs: 205, NextAtMs: next, Manual: true, By: "kim"})
}

// Jobs are listed with their state, with long texts cut; those that run next come first.
func TestJobsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Schedules = &planner{} })
	b.job(t, "late", 9_000)
	b.job(t, "soon", 5_000)
	for query, want := range map[string]string{"": "soon late", "?limit=1": "soon", "?limit=1&offset=1": "late", "?agent=EDEN&q=LATE": "late", "?enabled=false": "", "?agent=seum": ""} {
		a := get[monitor.SchedulesAnswer](t, b, "/api/schedules"+query, http.StatusOK)
		var got []string
		for _, job := range a.Jobs {
			got = append(got, job.ID)
			if s := job.State; s.RunID == "" || s.LastStatus != schedule.Error || s.Errors != 1 || s.LastDelivery != schedule.NotDelivered || len(job.Payload.Message) > 2_000 {
				t.Errorf("%s: %+v", job.ID, s)
			}
		}
		if strings.Join(got, " ") != want || a.On == nil || !*a.On {
			t.Errorf("%q: %q, on %v; want %q", query, got, a.On, want)
		}
	}
	contract := newContract(t, b)
	for _, path := range []string{"/api/schedules", "/api/schedules/soon", "/api/schedules/soon/runs"} {
		contract.check(t, http.MethodGet, path, http.StatusOK)
	}
	if whole := get[struct{ Job coordination.CronJob }](t, b, "/api/schedules/soon", http.StatusOK); whole.Job.Payload.Message != jobNamed("").Payload.Message {
		t.Error("one job is not whole")
	}
}

// The runs of a job are listed newest first, in pages, with their ends, costs and posts, also once the job is gone.
func TestRunsOfAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.job(t, "j", 5_000)
	page := func(query string) (got []string, next *string) {
		t.Helper()
		a := get[monitor.JobRunsAnswer](t, b, "/api/schedules/j/runs"+query, http.StatusOK)
		for _, r := range a.Runs {
			got = append(got, strings.TrimSpace(fmt.Sprint(r.RunID, " ", r.Status, " ", r.Delivery)))
		}
		if a.Total < len(got) {
			t.Errorf("%q: %d of %d", query, len(got), a.Total)
		}
		return got, a.NextCursor
	}
	const running, failed, fine = "cron:j:m5", "cron:j:1 error not-delivered", "cron:j:0 ok delivered"
	first, next := page("?limit=2")
	if strings.Join(first, ";") != running+";"+failed || next == nil {
		t.Fatalf("%q, next %v", first, next)
	}
	if rest, end := page("?limit=2&cursor=" + *next); strings.Join(rest, ";") != fine || end != nil {
		t.Errorf("%q, next %v", rest, end)
	}
	if only, _ := page("?status=error"); strings.Join(only, ";") != failed {
		t.Errorf("%q", only)
	}
	b.happens(t, schedule.Stream("j"), coordination.TypeCronJobRemoved, "eden", 1, coordination.CronJobRemoved{JobID: "j", By: "kim"})
	if rest, _ := page(""); len(rest) != 3 {
		t.Errorf("after the job was removed: %q", rest)
	}
	if r := get[monitor.JobRunsAnswer](t, b, "/api/schedules/j/runs?status=ok", http.StatusOK).Runs[0]; r.DurationMs != 7 || r.Usage == nil || r.Usage.Total != 7 || r.Summary != "done" {
		t.Errorf("%+v", r)
	}
}
