package coordination

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// read makes a record as a reader of the log gets it.
func read(t testing.TB, rules Rules, typ, agent, data string) Record {
	t.Helper()
	return ReadRecord(rules, typ, agent, 1_771_584_000_000, 1_771_584_000_500, []byte(data), nil)
}

func classify(t testing.TB, rules Rules, typ, agent, data string) Class {
	t.Helper()
	r := read(t, rules, typ, agent, data)
	return Classify(rules, &r, ScanText(rules, &r), testRoster())
}

func testRoster() *Roster {
	return ConfigApplied{
		Agents:   []ConfigAgent{{ID: "eden", Name: "이든"}, {ID: "Seum", Name: "세움"}, {ID: "ruda"}, {ID: "explorer", Utility: true}, {ID: "worker-quick", Kind: KindUtility}},
		Mentions: map[string]string{"111122223333444455": "세움"},
	}.Roster()
}

func TestScoringV1(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, typ, data string
		category        Category
		tags            []string
		confidence      float64
		source          Source
	}{
		{"one short hit", "a2a.send", `{"message":"배포"}`, InfraOps, []string{"배포"}, 0.63, SourceRule},
		{"one to one tie goes to the earlier row", "a2a.send", `{"message":"배포 코드"}`, EngineeringBuild, []string{"코드"}, 0.58, SourceRule},
		{"inside words: metrics", "a2a.send", `{"message":"metrics"}`, CustomerCommunity, []string{"cs"}, 0.63, SourceRule},
		{"inside words: prefix", "a2a.send", `{"message":"prefix"}`, EngineeringBuild, []string{"fix"}, 0.63, SourceRule},
		{"docker is also doc", "a2a.send", `{"message":"docker"}`, InfraOps, []string{"docker"}, 0.71, SourceRule},
		{"implementation counts four", "a2a.send", `{"message":"implementation"}`, EngineeringBuild, []string{"implement", "implementation"}, 0.95, SourceRule},
		{"ids count: ops", "a2a.send", `{"workSessionId":"ws_fx_task_topstatus"}`, InfraOps, []string{"ops"}, 0.63, SourceRule},
		{"ids count: docs", "a2a.send", `{"workSessionId":"ws_fx_cat_docs_id"}`, DocsKnowledge, []string{"doc", "docs"}, 0.71, SourceRule},
		{"types count", "plan.submitted", `{}`, PlanningDecision, []string{"plan"}, 0.63, SourceRule},
		{"case does not count", "a2a.send", `{"message":"DEPLOY Roadmap ROADMAP"}`, InfraOps, []string{"deploy"}, 0.66, SourceRule},
		{"repeats add nothing", "a2a.send", `{"message":"배포 배포 배포"}`, InfraOps, []string{"배포"}, 0.63, SourceRule},
		{"keywords do not span fields", "a2a.send", `{"label":"root","message":"cause"}`, EngineeringBuild, []string{}, 0.2, SourceFallback},
		{"root cause is one", "a2a.send", `{"message":"root cause"}`, ResearchAnalysis, []string{"root cause"}, 0.76, SourceRule},
		{"long Korean keyword", "a2a.send", `{"message":"컴플라이언스"}`, LegalCompliance, []string{"컴플라이언스"}, 0.76, SourceRule},
		{"three tags in table order", "a2a.send", `{"message":"버그 개발 구현 코드"}`, EngineeringBuild, []string{"코드", "구현", "개발"}, 0.95, SourceRule},
		{"Kelvin sign is k", "a2a.send", `{"message":"\u212API"}`, BizStrategy, []string{"kpi"}, 0.63, SourceRule},
		{"reply preview counts", "a2a.response", `{"replyPreview":"문의"}`, CustomerCommunity, []string{"문의"}, 0.63, SourceRule},
		{"error does not", "a2a.send", `{"error":"deploy"}`, EngineeringBuild, []string{}, 0.2, SourceFallback},
		{"fallback of tasks", "task.updated", `{}`, PlanningDecision, []string{}, 0.2, SourceFallback},
		{"fallback of the system", "gateway.heartbeat", `{}`, InfraOps, []string{}, 0.2, SourceFallback},
		{"manual", "a2a.send", `{"message":"배포","collabCategory":" biz_strategy ","collabSubTags":["  a ",7,"","b","c","d","e","f"],"categoryConfidence":0.3}`, BizStrategy, []string{"a", "b", "c", "d", "e"}, 1, SourceManual},
		{"manual without tags", "a2a.send", `{"collabCategory":"qa_validation"}`, QAValidation, []string{}, 1, SourceManual},
		{"unknown category is none", "a2a.send", `{"message":"배포","collabCategory":"cooking"}`, InfraOps, []string{"배포"}, 0.63, SourceRule},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := classify(t, RulesV1, tt.typ, "eden", tt.data)
			if c.Category != tt.category || !slices.Equal(c.SubTags, tt.tags) || c.Confidence != tt.confidence || c.Source != tt.source {
				t.Errorf("got %s %q %v %s, want %s %q %v %s", c.Category, c.SubTags, c.Confidence, c.Source, tt.category, tt.tags, tt.confidence, tt.source)
			}
			if c.SubTags == nil {
				t.Error("sub-tags are nil")
			}
			if c.Secondary != nil {
				t.Errorf("secondary %v", c.Secondary)
			}
		})
	}
}

func TestScoringV2(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, typ, data string
		category        Category
		tags            []string
		secondary       []Category
		source          Source
	}{
		{"one concept counts once", "a2a.send", `{"message":"deploy 배포 deployment"}`, InfraOps, []string{"배포"}, nil, SourceRule},
		{"particles", "a2a.send", `{"message":"배포를 검증했습니다. 테스트도요"}`, QAValidation, []string{"테스트", "검증"}, []Category{InfraOps}, SourceRule},
		{"compounds", "a2a.send", `{"message":"무중단재배포"}`, InfraOps, []string{"배포"}, nil, SourceRule},
		{"compound of two concepts", "a2a.send", `{"message":"회귀검증"}`, QAValidation, []string{"회귀", "검증"}, nil, SourceRule},
		{"English glued to Korean", "a2a.send", `{"message":"신규feature구현"}`, EngineeringBuild, []string{"구현", "기능"}, nil, SourceRule},
		{"inflections", "a2a.send", `{"message":"Deploys are rolled-back"}`, InfraOps, []string{"배포", "롤백"}, nil, SourceRule},
		{"phrases over line ends", "a2a.send", `{"message":"find the root\ncause"}`, ResearchAnalysis, []string{"원인"}, nil, SourceRule},
		{"ids are not scored", "a2a.send", `{"workSessionId":"ws docs","taskId":"deploy test"}`, EngineeringBuild, []string{}, nil, SourceFallback},
		{"types are not scored", "plan.submitted", `{}`, PlanningDecision, []string{}, nil, SourceFallback},
		{"preview of the message adds nothing", "a2a.send", `{"message":"배포 완료했습니다","replyPreview":"배포 완료..."}`, InfraOps, []string{"배포"}, nil, SourceRule},
		{"headings count more", "a2a.spawn", `{"label":"release test","message":"test"}`, InfraOps, []string{"배포"}, []Category{QAValidation}, SourceRule},
		{"fenced code is not read", "a2a.send", "{\"message\":\"봐 주세요 ```go test ./... && deploy```\"}", EngineeringBuild, []string{}, nil, SourceFallback},
		{"weak words only", "a2a.send", `{"message":"정책"}`, PlanningDecision, []string{"정책"}, nil, SourceHeuristic},
		{"phrases hide their words", "a2a.send", `{"message":"contract test for the API contract"}`, QAValidation, []string{"테스트 작성"}, nil, SourceRule},
		{"secondary", "a2a.send", `{"message":"마케팅 캠페인 광고 매출 지표"}`, GrowthMarketing, []string{"마케팅", "광고", "캠페인"}, []Category{BizStrategy}, SourceRule},
		{"manual with secondary", "a2a.send", `{"message":"배포","collabCategory":"biz_strategy"}`, BizStrategy, []string{}, []Category{InfraOps}, SourceManual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := classify(t, RulesV2, tt.typ, "eden", tt.data)
			if c.Category != tt.category || !slices.Equal(c.SubTags, tt.tags) || !slices.Equal(c.Secondary, tt.secondary) || c.Source != tt.source {
				t.Errorf("got %s %q %v %s, want %s %q %v %s", c.Category, c.SubTags, c.Secondary, c.Source, tt.category, tt.tags, tt.secondary, tt.source)
			}
		})
	}
}

func TestLongTextIsReadToALimit(t *testing.T) {
	t.Parallel()

	early := classifyMessage(RulesV2, "배포 "+strings.Repeat("가 ", scanLimit)+"법무 약관 계약 개인정보")
	if early.Category != InfraOps || early.Secondary != nil {
		t.Errorf("got %s also %v", early.Category, early.Secondary)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		rules      Rules
		data, want string
	}{
		{RulesV1, `{}`, "v1"},
		{RulesV1, `{"categoryVersion":"v0"}`, "v0"},
		{RulesV2, `{"categoryVersion":"v1"}`, "v2"},
		{RulesV2, `{"categoryVersion":"v9","collabCategory":"infra_ops"}`, "v9"},
	} {
		if got := classify(t, tt.rules, "a2a.send", "eden", tt.data).Version; got != tt.want {
			t.Errorf("%s %s: version %q, want %q", tt.rules, tt.data, got, tt.want)
		}
	}
	if got := classify(t, RulesV2, "a2a.send", "eden", `{"collabIntent":" ask "}`).Intent; got != "ask" {
		t.Errorf("intent %q", got)
	}
}

func TestSessionTypes(t *testing.T) {
	t.Parallel()

	const main, sub, unknown = SessionMain, SessionSubagent, SessionUnknown
	for _, tt := range []struct {
		name, typ, data string
		from1, to1      SessionType
		from2, to2      SessionType
		agent           string
	}{
		{name: "allow-list", typ: "a2a.send", data: `{"fromAgent":"EDEN","toAgent":"seum"}`, from1: main, to1: main, from2: main, to2: main},
		{name: "unknown agents", typ: "a2a.send", data: `{"fromAgent":"x","toAgent":"y"}`, from1: unknown, to1: unknown, from2: unknown, to2: unknown},
		{name: "explicit pair", typ: "a2a.send", data: `{"fromSessionType":"subagent","toSessionType":" main "}`, from1: sub, to1: main, from2: sub, to2: main},
		{name: "explicit unknown pair", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"seum","fromSessionType":"unknown","toSessionType":"unknown"}`, from1: unknown, to1: unknown, from2: main, to2: main},
		{name: "one explicit side", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"seum","toSessionType":"subagent"}`, from1: main, to1: main, from2: main, to2: sub},
		{name: "subagent key", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"seum","targetSessionKey":"agent:seum:subagent:1"}`, from1: main, to1: sub, from2: main, to2: sub},
		{name: "main key in any case", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"x","targetSessionKey":"Agent:X:MAIN"}`, from1: main, to1: main, from2: main, to2: main},
		{name: "main key with a colon more", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"x","targetSessionKey":"agent:x:y:main"}`, from1: main, to1: unknown, from2: main, to2: unknown},
		{name: "main key without agent", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"x","targetSessionKey":"agent::main"}`, from1: main, to1: unknown, from2: main, to2: unknown},
		{name: "a2a key goes by agent", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"seum","targetSessionKey":"agent:seum:a2a:c1"}`, from1: main, to1: main, from2: main, to2: main},
		{name: "first from key", typ: "a2a.send", data: `{"fromAgent":"eden","requesterSessionKey":"agent:a:subagent:1","sessionKey":"agent:a:main"}`, from1: sub, to1: unknown, from2: sub, to2: unknown},
		{name: "spawn", typ: "a2a.spawn", data: `{"fromAgent":"x","toAgent":"eden"}`, from1: main, to1: sub, from2: main, to2: sub},
		{name: "hint and a main agent opposite", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"x","depth":0}`, from1: main, to1: sub, from2: main, to2: sub},
		{name: "hint as text is none", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"x","depth":"1"}`, from1: main, to1: unknown, from2: main, to2: unknown},
		{name: "utility agents", typ: "a2a.send", data: `{"fromAgent":"eden","toAgent":"explorer"}`, from1: main, to1: main, from2: main, to2: unknown},
		{name: "utility agents, delegated", typ: "a2a.send", data: `{"fromAgent":"worker-quick","toAgent":"eden","hop":1}`, from1: main, to1: main, from2: sub, to2: main},
		{name: "the event's own agent", typ: "task.started", agent: "seum", data: `{}`, from1: main, to1: unknown, from2: main, to2: unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v1, v2 := classify(t, RulesV1, tt.typ, tt.agent, tt.data), classify(t, RulesV2, tt.typ, tt.agent, tt.data)
			if v1.From != tt.from1 || v1.To != tt.to1 {
				t.Errorf("v1: %s to %s, want %s to %s", v1.From, v1.To, tt.from1, tt.to1)
			}
			if v2.From != tt.from2 || v2.To != tt.to2 {
				t.Errorf("v2: %s to %s, want %s to %s", v2.From, v2.To, tt.from2, tt.to2)
			}
		})
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()

	const mainToMain = `"fromAgent":"eden","toAgent":"seum"`
	for _, tt := range []struct {
		typ, data string
		v1, v2    Role
	}{
		{"a2a.send", `{` + mainToMain + `}`, RoleConversation, RoleConversation},
		{"a2a.response", `{` + mainToMain + `}`, RoleConversation, RoleConversation},
		{"a2a.complete", `{` + mainToMain + `}`, RoleConversation, RoleConversation},
		{"a2a.auto_route", `{"senderAgentId":"eden","targetAgentId":"seum"}`, RoleConversation, RoleConversation},
		{"a2a.retry", `{` + mainToMain + `}`, RoleConversation, RoleObservability},
		{"a2a.forbidden", `{` + mainToMain + `}`, RoleConversation, RoleObservability},
		{"a2a.job.created", `{` + mainToMain + `}`, RoleConversation, RoleOrchestration},
		{"a2a.job.paused", `{` + mainToMain + `}`, RoleConversation, RoleOrchestration},
		{"a2a.collaborate.sent", `{` + mainToMain + `}`, RoleConversation, RoleOrchestration},
		{"a2a.whatever", `{` + mainToMain + `}`, RoleConversation, RoleDelegation},
		{"a2a.send", `{` + mainToMain + `,"parentConversationId":"c0"}`, RoleDelegation, RoleDelegation},
		{"a2a.send", `{` + mainToMain + `,"hop":0}`, RoleDelegation, RoleDelegation},
		{"a2a.send", `{` + mainToMain + `,"parentConversationId":"c0","eventRole":" conversation.main "}`, RoleConversation, RoleConversation},
		{"a2a.send", `{` + mainToMain + `,"eventRole":"chat"}`, RoleConversation, RoleConversation},
		{"a2a.send", `{"fromAgent":"eden","toAgent":"stranger"}`, RoleDelegation, RoleDelegation},
		{"a2a.spawn", `{` + mainToMain + `}`, RoleDelegation, RoleDelegation},
		{"task.started", `{}`, RoleOrchestration, RoleOrchestration},
		{"task.unheard_of", `{}`, RoleOrchestration, RoleOrchestration},
		{"backlog.auto_picked", `{}`, RoleOrchestration, RoleOrchestration},
		{"resume_reminder.sent", `{}`, RoleOrchestration, RoleOrchestration},
		{"zombie.abandoned", `{}`, RoleOrchestration, RoleOrchestration},
		{"milestone.sync_failed", `{}`, RoleObservability, RoleObservability},
		{"session.message", `{}`, RoleObservability, RoleObservability},
		{"run.started", `{}`, RoleObservability, RoleObservability},
		{"gateway.heartbeat", `{}`, RoleObservability, RoleObservability},
		{"custom.thing", `{}`, RoleObservability, RoleObservability},
	} {
		v1, v2 := classify(t, RulesV1, tt.typ, "eden", tt.data), classify(t, RulesV2, tt.typ, "eden", tt.data)
		if v1.Role != tt.v1 || v2.Role != tt.v2 {
			t.Errorf("%s %s: v1 %s, v2 %s, want %s, %s", tt.typ, tt.data, v1.Role, v2.Role, tt.v1, tt.v2)
		}
		if guessed := !strings.Contains(tt.data, `" conversation.main "`); v1.RoleGuessed != guessed || v2.RoleGuessed != guessed {
			t.Errorf("%s %s: guessed %v and %v, want %v", tt.typ, tt.data, v1.RoleGuessed, v2.RoleGuessed, guessed)
		}
	}
}

func TestFixedOrders(t *testing.T) {
	t.Parallel()

	if got := fmt.Sprint(Roles()); got != "[conversation.main delegation.subagent orchestration.task system.observability]" {
		t.Errorf("roles %s", got)
	}
	list := Categories()
	if len(list) != 10 || list[0] != (CategoryInfo{EngineeringBuild, "개발/구현"}) || list[9] != (CategoryInfo{BizStrategy, "비즈니스/전략"}) {
		t.Errorf("categories %v", list)
	}
	list[0].NameKo = "changed"
	if reflect.DeepEqual(list, Categories()) {
		t.Error("callers share one list")
	}
	if Category("").Valid() || Role("").Valid() || SessionType("").Valid() {
		t.Error("blank is valid")
	}
}

// Every word of the tables must be found as it is written, or the table lies.
func TestEveryConceptWordIsFound(t *testing.T) {
	t.Parallel()

	for row := range conceptTable {
		for _, c := range conceptTable[row] {
			for _, words := range []string{c.verbs, c.nouns, c.words, c.korean} {
				for _, word := range alternatives(words) {
					class := classifyMessage(RulesV2, word)
					if class.Category != categories[row].Category || !slices.Contains(class.SubTags, c.tag) {
						t.Errorf("%q is %s %v, want %s %s", word, class.Category, class.SubTags, categories[row].Category, c.tag)
					}
					if word != strings.ToLower(word) || strings.Contains(word, "-") {
						t.Errorf("%q is not written as the matcher reads", word)
					}
				}
			}
		}
	}
	if n := len(concepts().tags); n > maxTerms {
		t.Errorf("%d concepts, room for %d", n, maxTerms)
	}
	if n := len(keywords().texts); n > maxTerms {
		t.Errorf("%d keywords, room for %d", n, maxTerms)
	}
}

func TestConjugation(t *testing.T) {
	t.Parallel()

	for verb, want := range map[string]string{
		"deploy":   "deploy deploys deployed deploying",
		"validate": "validate validates validated validating",
		"patch":    "patch patches patched patching",
		"modify":   "modify modifies modified modifying",
		"roll out": "roll out rolls out rolled out rolling out",
	} {
		if got := strings.Join(conjugate(verb), " "); got != want {
			t.Errorf("%s: %s", verb, got)
		}
	}
	for noun, want := range map[string]string{"policy": "policies", "test": "tests", "branch": "branches", "day": "days"} {
		if got := plural(noun); got != want {
			t.Errorf("%s: %s", noun, got)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("a2a.send", "eden", "{\"fromAgent\":\"eden\",\"toAgent\":\"seum\",\"message\":\"deploy 배포 ```x\"}")
	f.Add("task.started", "", `{"collabSubTags":[["x"],"y",{}]}`)
	f.Add("a2a.spawn_result", "x", `{"message":"http://a 회원인증 root\tcause","depth":1e999}`)
	f.Fuzz(func(t *testing.T, typ, agent, data string) {
		for _, rules := range []Rules{RulesV1, RulesV2} {
			r := ReadRecord(rules, typ, agent, 1, 2, []byte(data), nil)
			c := Classify(rules, &r, ScanText(rules, &r), testRoster())
			switch {
			case !c.Role.Valid(), !c.Category.Valid(), !c.From.Valid(), !c.To.Valid():
				t.Errorf("invalid class %+v", c)
			case c.Confidence < 0.2 || c.Confidence > 1:
				t.Errorf("confidence %v", c.Confidence)
			case c.SubTags == nil || len(c.SubTags) > maxSubTags:
				t.Errorf("sub-tags %q", c.SubTags)
			case slices.Contains(c.Secondary, c.Category):
				t.Errorf("%s is secondary too", c.Category)
			}
			ThreadStep(&r)
			TaskStateOf(&r)
			ThreadKey(&r)
			if title, ok := TitleOf(&r, testRoster()); ok && title.Priority < TitleRank(&r) {
				t.Errorf("title %+v is better than its rank %d", title, TitleRank(&r))
			}
			if stream := StreamOf(&r); stream == "" {
				t.Error("no stream")
			}
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	data := []byte(`{"fromAgent":"eden","toAgent":"seum","targetSessionKey":"agent:seum:a2a:b76def94-f73c-4dbb-ac50-a9b0419e90b0","message":"어제 배포한 결제 서버에서 5xx가 늘어서 원인을 분석했습니다. The connection pool was too small after the last deployment, so requests waited for a free connection and timed out. 우선 롤백했고, 풀 크기를 설정으로 뺀 수정은 PR로 올렸습니다. Please review and run the regression tests before we release again. 고객 문의는 12건입니다.","replyPreview":"어제 배포한 결제 서버에서 5xx가 늘어서 원인을 분석했습니다.","runId":"af24f5df-afff-46cc-a3cb-d1926bc1ed36","conversationId":"b76def94-f73c-4dbb-ac50-a9b0419e90b0","workSessionId":"ws_a198c9f9-21b5-44b7-a5e9-2003d9f44d7b","taskId":"task_2d4f409454129039aa09","eventRole":"conversation.main","fromSessionType":"main","toSessionType":"main"}`)
	roster := testRoster()
	for _, rules := range []Rules{RulesV1, RulesV2} {
		b.Run(string(rules)+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadRecord(rules, "a2a.response", "eden", 1771584001000, 1771584001001, data, nil)
			}
		})
		r := ReadRecord(rules, "a2a.response", "eden", 1771584001000, 1771584001001, data, nil)
		b.Run(string(rules)+"/scan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ScanText(rules, &r)
			}
		})
		scan := ScanText(rules, &r)
		b.Run(string(rules)+"/classify", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Classify(rules, &r, scan, roster)
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	r := Record{Type: TypeA2ASend, Facts: Facts{Message: "어제 배포한 결제 서버에서 5xx가 늘어서 원인을 분석했습니다. The connection pool was too small after the last deployment, so requests waited for a free connection and timed out. 우선 롤백했고, 풀 크기를 설정으로 뺀 수정은 **PR**로 올렸습니다. Please review and run the regression tests before we release again."}}
	roster := testRoster()
	for _, bench := range []struct {
		name string
		do   func()
	}{
		{"clean", func() { Clean(r.Message, roster) }},
		{"preview", func() { Preview(r.Message, roster, 80) }},
		{"title", func() { TitleOf(&r, roster) }},
		{"message", func() { MessageText(&r) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.do()
			}
		})
	}
}
