package samplework

import (
	"context"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// Schedules keeps scheduled jobs.
type Schedules interface {
	Add(ctx context.Context, job coordination.CronJob, by string) (schedules.Row, error)
	Now(ctx context.Context, id string, onlyDue bool, by string) (schedule.Ran, error)
}

// by is who asks for the sample's work.
const by = "sample"

// glance is how long the clock is watched before the first work: one that stands still gives none.
const glance = time.Second

// briefing is a job that a visitor finds with a run.
var briefing = coordination.CronJob{Name: "아침 브리핑", Description: "밤사이 바뀐 것을 모아 팀에 알립니다.", AgentID: "nuri", Enabled: true,
	Schedule: coordination.CronSchedule{Kind: schedule.KindCron, Expr: "0 9 * * 1-5", Tz: "Asia/Seoul"},
	Payload:  coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "밤사이 바뀐 것을 세 줄로 정리해 주세요."}}

// First gives what a visitor finds at once: a scheduled job that has run.
func (s *Service) First(ctx context.Context) error {
	began := s.o.Now()
	if wait.For(ctx, glance) != nil || s.o.Now().Sub(began) < glance/2 {
		return nil
	}
	row, err := s.o.Schedules.Add(ctx, briefing, by)
	if err == nil {
		_, err = s.o.Schedules.Now(ctx, row.Job.ID, false, by)
	}
	if err != nil {
		return fmt.Errorf("schedule the sample's job: %w", err)
	}
	return nil
}
