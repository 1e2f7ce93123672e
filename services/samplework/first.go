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
}

// by is who asks for the sample's work.
const by = "sample"

// glance is how long the clock is watched before the first work: one that stands still gives none.
const glance = time.Second

// briefing is a job that a visitor finds and may run.
var briefing = coordination.CronJob{Name: "아침 브리핑", Description: "밤사이 바뀐 것을 모아 팀에 알립니다.", AgentID: "nuri", Enabled: true,
	Schedule: coordination.CronSchedule{Kind: schedule.KindCron, Expr: "0 9 * * 1-5", Tz: "Asia/Seoul"},
	Payload:  coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "밤사이 바뀐 것을 세 줄로 정리해 주세요."}}

// First gives what a visitor finds at once: a scheduled job. It is not run, so that no agent of the pieces is busy with it.
func (s *Service) First(ctx context.Context) error {
	began := s.o.Now()
	if wait.For(ctx, glance) != nil || s.o.Now().Sub(began) < glance/2 {
		return nil
	}
	if _, err := s.o.Schedules.Add(ctx, briefing, by); err != nil {
		return fmt.Errorf("schedule the sample's job: %w", err)
	}
	return nil
}
