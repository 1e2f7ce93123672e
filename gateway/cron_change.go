package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Parameters of jobs that openclawd does not support. Those that would restrict a run, or change when it runs, are refused; the others have no
// effect.
var (
	refusedOfJobs     = []string{"trigger", "pacing", "failureAlert", "declarationKey"}
	refusedOfPayloads = []string{"fallbacks", "toolsAllow", "argv", "script"}
	ignoredOfJobs     = []string{"displayName", "owner", "state"}
	ignoredOfPayloads = []string{"lightContext", "allowUnsafeExternalContent", "toolsAllowIsDefault", "deliver", "channel", "to", "bestEffortDeliver"}
	ignoredOfDelivery = []string{"failureDestination", "completionDestination"}
)

func (s *Server) addJob(ctx context.Context, call *wire.Call) (any, error) {
	var job coordination.CronJob
	job.Enabled = true
	if err := patchJob(&job, call.Params); err != nil {
		return nil, jobRefusalOf(call.Method, err)
	}
	if s.opts.Schedules == nil {
		return nil, s.noSchedules()
	}
	row, err := s.opts.Schedules.Add(ctx, job, call.Peer.Client.ID)
	if err != nil {
		return nil, jobRefusalOf(call.Method, err)
	}
	return encoded(jobInfoOf(&row, call.Peer.Protocol))
}

func (s *Server) updateJob(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		jobIDOf
		Patch    json.RawMessage `json:"patch"`
		Revision string          `json:"expectedConfigRevision"`
	}](call)
	if err != nil {
		return nil, err
	}
	if s.opts.Schedules == nil {
		return nil, s.noSchedules()
	}
	change := func(job *coordination.CronJob) error {
		if p.Revision != "" && p.Revision != strconv.FormatInt(job.UpdatedAtMs, 10) {
			return &schedule.Refusal{Reason: "revision_conflict", Field: "expectedConfigRevision", Value: p.Revision, HintText: "the job has changed: read it with cron.get and repeat"}
		}
		return patchJob(job, p.Patch)
	}
	row, err := s.opts.Schedules.Update(ctx, p.id(), change, call.Peer.Client.ID)
	if err != nil {
		return nil, jobRefusalOf(call.Method, err)
	}
	return encoded(jobInfoOf(&row, call.Peer.Protocol))
}

// patchJob applies parameters to a job: null clears a member, payload and delivery are merged, a schedule is replaced. The error is a
// *schedule.Refusal.
func patchJob(job *coordination.CronJob, params json.RawMessage) error {
	members, err := membersOf("params", params, refusedOfJobs, ignoredOfJobs)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch name {
		case "payload":
			err = patchPayload(&job.Payload, raw)
		case "delivery":
			err = patchDelivery(job, raw)
		case "schedule":
			job.Schedule = coordination.CronSchedule{}
			err = strictly(name, raw, &job.Schedule)
		case "check":
			job.Check = nil
			err = strictly(name, raw, &job.Check)
		case "deleteAfterRun":
			job.DeleteAfterRun = nil
			err = strictly(name, raw, &job.DeleteAfterRun)
		case "name", "description", "agentId", "sessionKey", "enabled", "sessionTarget", "wakeMode", "missed", "maxRuns":
			err = strictly(name, object(name, cleared(name, raw)), job)
		default:
			err = &schedule.Refusal{Reason: schedule.CodeInvalid, Field: name, Value: echo(string(raw)), HintText: "unknown: leave it out"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func object(name string, raw json.RawMessage) json.RawMessage {
	text, _ := json.Marshal(map[string]json.RawMessage{name: raw}) // valid JSON always marshals
	return text
}

// cleared is what null means for a member.
func cleared(name string, raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) != "null" {
		return raw
	}
	switch name {
	case "enabled":
		return json.RawMessage("true")
	case "maxRuns":
		return json.RawMessage("0")
	}
	return json.RawMessage(`""`)
}

// membersOf are the members of an object, without ignored ones.
func membersOf(field string, raw json.RawMessage, refused, ignored []string) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, &schedule.Refusal{Reason: schedule.CodeInvalid, Field: field, Value: echo(string(raw)), HintText: "give an object"}
	}
	for _, name := range refused {
		if value, given := members[name]; given && string(value) != "null" && string(value) != "false" {
			return nil, &schedule.Refusal{Reason: "not_kept", Field: name, Value: echo(string(value)), HintText: "openclawd does not support this: leave it out"}
		}
		delete(members, name)
	}
	for _, name := range ignored {
		delete(members, name)
	}
	return members, nil
}

func patchPayload(p *coordination.CronPayload, raw json.RawMessage) error {
	members, err := membersOf("payload", raw, refusedOfPayloads, ignoredOfPayloads)
	if err != nil {
		return err
	}
	if kind := strings.Trim(string(members["kind"]), `"`); kind != "" && kind != p.Kind {
		*p = coordination.CronPayload{}
	}
	if p.Kind == schedule.PayloadHeartbeat || strings.Contains(string(members["kind"]), schedule.PayloadHeartbeat) {
		return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "payload.kind", Value: schedule.PayloadHeartbeat, HintText: "set agents.defaults.heartbeat instead"}
	}
	if t, given := members["timeoutSeconds"]; given && string(t) == "null" {
		p.TimeoutSeconds = nil
	}
	return merge("payload", members, p)
}

func patchDelivery(job *coordination.CronJob, raw json.RawMessage) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		job.Delivery = nil
		return nil
	}
	members, err := membersOf("delivery", raw, nil, ignoredOfDelivery)
	if err != nil {
		return err
	}
	d := coordination.CronDelivery{Mode: schedule.DeliverAnnounce}
	if job.Delivery != nil {
		d = *job.Delivery
	}
	if thread := members["threadId"]; len(thread) > 0 && thread[0] != '"' && string(thread) != "null" {
		members["threadId"] = json.RawMessage(strconv.Quote(string(thread)))
	}
	job.Delivery = &d
	return merge("delivery", members, &d)
}

// merge decodes members into a struct; null clears a text.
func merge(field string, members map[string]json.RawMessage, into any) error {
	for name, raw := range members {
		if string(raw) == "null" && name != "timeoutSeconds" {
			members[name] = json.RawMessage(`""`)
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("merge %s: %w", field, err)
	}
	return strictly(field, text, into)
}

// strictly decodes JSON without unknown members.
func strictly(field string, raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: field, Value: echo(string(raw)), HintText: strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}
