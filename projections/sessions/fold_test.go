package sessions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// eachRebuilt says whether each example of a fold is made again as well; histories of the property test are in any case.
var eachRebuilt = testscale.Of(false, true)

const (
	created = `"sessionKey":"agent:eden:main","sessionId":"t1"`
	first   = "Row=1 Key=agent:eden:main Agent=eden Kind=main ID=t1 "
)

// Given events, these are the sessions and, under " | ", the transcripts of agent:eden:main; live, and rebuilt from the log.
func TestFold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []eventstore.NewEvent
		want   []string
	}{
		"created": {
			[]eventstore.NewEvent{event(5, "created", created)},
			[]string{first + "CreatedAt=5 UpdatedAt=5 Seq=1", "| ID=t1 Key=agent:eden:main OpenedAt=5"},
		},
		"created by another session": {
			[]eventstore.NewEvent{event(5, "created", `"sessionKey":"Agent:Eden:Subagent:U1","sessionId":"t1","parentSessionKey":"agent:main:main"`)},
			[]string{`Row=1 Key=agent:eden:subagent:u1 Agent=eden Kind=subagent ID=t1 Spawner=agent:main:main Settings={"spawnedBy":"agent:main:main"} CreatedAt=5 UpdatedAt=5 Seq=1`},
		},
		"created again": {
			[]eventstore.NewEvent{event(5, "created", created), event(6, "created", `"sessionKey":"agent:eden:main","sessionId":"t2"`)},
			[]string{first + "CreatedAt=5 UpdatedAt=5 Seq=1", "| ID=t1 Key=agent:eden:main OpenedAt=5"},
		},
		"patched": {
			[]eventstore.NewEvent{
				event(5, "created", created),
				event(6, "patched", `"sessionKey":"agent:eden:main","set":{"label":" 배포 ","thinkingLevel":"high","execNode":"n1"}`),
				event(7, "patched", `"sessionKey":"agent:eden:main","set":{"spawnedBy":"agent:main:main","model":null},"unset":["execNode","never"]`),
			},
			[]string{
				first + `Label=배포 Spawner=agent:main:main Settings={"spawnedBy":"agent:main:main","thinkingLevel":"high"} CreatedAt=5 UpdatedAt=7 Seq=3`,
				"| ID=t1 Key=agent:eden:main OpenedAt=5",
			},
		},
		"patched before it was created, then the label taken off": {
			[]eventstore.NewEvent{
				event(5, "patched", created+`,"set":{"label":"x"}`),
				event(6, "patched", `"sessionKey":"agent:eden:main","unset":["label"]`),
			},
			[]string{first + "CreatedAt=5 UpdatedAt=6 Seq=2", "| ID=t1 Key=agent:eden:main OpenedAt=5"},
		},
		"a label that another one has stays there until it is given up": {
			[]eventstore.NewEvent{
				event(1, "patched", `"sessionKey":"agent:eden:a","sessionId":"a","set":{"label":"x"}`),
				event(2, "patched", `"sessionKey":"agent:eden:b","sessionId":"b","set":{"label":"x","execNode":"n"}`),
				event(3, "patched", `"sessionKey":"agent:eden:a","set":{"label":"y"}`),
				event(4, "patched", `"sessionKey":"agent:eden:c","sessionId":"c","set":{"label":"x"}`),
				event(5, "deleted", `"sessionKey":"agent:eden:a"`),
				event(6, "patched", `"sessionKey":"agent:eden:d","sessionId":"d","set":{"label":"y"}`),
			},
			[]string{
				"Row=6 Key=agent:eden:d Agent=eden Kind=main ID=d Label=y CreatedAt=6 UpdatedAt=6 Seq=6",
				"Row=4 Key=agent:eden:c Agent=eden Kind=main ID=c Label=x CreatedAt=4 UpdatedAt=4 Seq=4",
				`Row=2 Key=agent:eden:b Agent=eden Kind=main ID=b Settings={"execNode":"n"} CreatedAt=2 UpdatedAt=2 Seq=2`,
			},
		},
		"said": {
			[]eventstore.NewEvent{
				event(1, "created", created),
				say(2, "main", "user", "배포   파이프라인을\n**복구**해 주세요", `"channel":"discord","to":"channel:77","accountId":"ruda","threadId":"9"`),
				say(3, "main", "assistant", "토큰: abcdefghijkl1234 입니다", `"sessionId":"t1","provider":"fake","model":"echo-1","usage":{"input":100,"output":20,"total":120}`),
			},
			[]string{
				first + "CreatedAt=1 UpdatedAt=3 Seq=3 Messages=2 Title=배포 파이프라인을 복구해 주세요 LastRole=assistant LastText=토큰: *** 입니다 " +
					"Provider=fake Model=echo-1 InputTokens=100 OutputTokens=20 TotalTokens=120 TokensFresh=true " +
					"LastChannel=discord LastTo=channel:77 LastAccount=ruda LastThread=9",
				"| ID=t1 Key=agent:eden:main OpenedAt=1 Messages=2",
			},
		},
		"not addressed yet": {
			[]eventstore.NewEvent{say(1, "main", "assistant", "hello", `"sessionId":"t9"`)},
			[]string{
				"Row=1 Key=agent:eden:main Agent=eden Kind=main ID=t9 CreatedAt=1 UpdatedAt=1 Seq=1 Messages=1 LastRole=assistant LastText=hello",
				"| ID=t9 Key=agent:eden:main OpenedAt=1 Messages=1",
			},
		},
		"a title is made of the first words that make one, a route of the last that names a channel": {
			[]eventstore.NewEvent{
				event(1, "created", created),
				say(2, "main", "user", "", `"channel":"webchat"`),
				say(3, "main", "user", "task_ab12"),
				say(4, "main", "user", "고쳐 주세요"),
			},
			[]string{
				first + "CreatedAt=1 UpdatedAt=4 Seq=4 Messages=3 Title=task_ab12 LastRole=user LastText=고쳐 주세요 LastChannel=webchat",
				"| ID=t1 Key=agent:eden:main OpenedAt=1 Messages=3",
			},
		},
		"broken off, then put in by a client": {
			[]eventstore.NewEvent{
				event(1, "created", created),
				say(2, "main", "assistant", "ti", `"provider":"fake","model":"echo-1","stopReason":"aborted","usage":{"input":7,"output":-1,"total":1e99}`),
				say(3, "main", "assistant", "note", `"by":"cli","provider":"openclaw","model":"gateway-injected","stopReason":"stop","usage":{"input":0,"output":0,"total":0}`),
			},
			[]string{
				first + "CreatedAt=1 UpdatedAt=3 Seq=3 Messages=2 LastRole=assistant LastText=note Provider=fake Model=echo-1 InputTokens=7 " +
					"TotalTokens=9007199254740992 TokensFresh=true AbortedLastRun=true",
				"| ID=t1 Key=agent:eden:main OpenedAt=1 Messages=2",
			},
		},
		"reset": {
			[]eventstore.NewEvent{
				event(1, "patched", created+`,"set":{"label":"x","model":"fake/echo-1"}`),
				say(2, "main", "user", "hi", `"channel":"webchat"`),
				say(3, "main", "assistant", "hello", `"provider":"fake","model":"echo-1","usage":{"input":1,"output":2,"total":3},"stopReason":"aborted"`),
				event(4, "reset", `"sessionKey":"agent:eden:main","sessionId":"t2","reason":"new"`),
				say(5, "main", "assistant", "late", `"sessionId":"t1"`),
				say(6, "main", "user", "어서", `"sessionId":"t2"`),
			},
			[]string{
				`Row=1 Key=agent:eden:main Agent=eden Kind=main ID=t2 Label=x Settings={"model":"fake/echo-1"} CreatedAt=1 UpdatedAt=6 Seq=6 Messages=1 ` +
					"Title=어서 LastRole=user LastText=어서 Provider=fake Model=echo-1 TokensFresh=true LastChannel=webchat",
				"| ID=t2 Key=agent:eden:main OpenedAt=4 Messages=1",
				"| ID=t1 Key=agent:eden:main OpenedAt=1 ClosedAt=4 Closed=new Messages=3",
			},
		},
		"reset before it was created": {
			[]eventstore.NewEvent{event(4, "reset", `"sessionKey":"agent:eden:main","sessionId":"t2"`)},
			[]string{
				"Row=1 Key=agent:eden:main Agent=eden Kind=main ID=t2 CreatedAt=4 UpdatedAt=4 Seq=1",
				"| ID=t2 Key=agent:eden:main OpenedAt=4",
			},
		},
		"deleted with its transcripts": {
			[]eventstore.NewEvent{
				event(1, "created", created), say(2, "main", "user", "hi"),
				event(3, "reset", `"sessionKey":"agent:eden:main","sessionId":"t2"`),
				event(4, "deleted", `"sessionKey":"agent:eden:main"`),
				say(5, "main", "assistant", "late", `"sessionId":"t2"`),
			},
			nil,
		},
		"deleted, its transcript kept, and started again": {
			[]eventstore.NewEvent{
				event(1, "created", created), say(2, "main", "user", "hi"),
				event(3, "deleted", `"sessionKey":"agent:eden:main","transcriptKept":true`),
				say(4, "main", "assistant", "late", `"sessionId":"t1"`),
				event(5, "created", `"sessionKey":"agent:eden:main","sessionId":"t3"`),
			},
			[]string{
				"Row=5 Key=agent:eden:main Agent=eden Kind=main ID=t3 CreatedAt=5 UpdatedAt=5 Seq=5",
				"| ID=t3 Key=agent:eden:main OpenedAt=5",
				"| ID=t1 Key=agent:eden:main OpenedAt=1 ClosedAt=3 Closed=deleted Messages=2",
			},
		},
		"deleted without there being any": {[]eventstore.NewEvent{event(1, "deleted", `"sessionKey":"agent:eden:main"`)}, nil},
		"an older time does not make a session older": {
			[]eventstore.NewEvent{event(5, "created", created), say(2, "main", "user", "hi")},
			[]string{
				first + "CreatedAt=5 UpdatedAt=5 Seq=2 Messages=1 Title=hi LastRole=user LastText=hi",
				"| ID=t1 Key=agent:eden:main OpenedAt=5 Messages=1",
			},
		},
		"of an imported log": {[]eventstore.NewEvent{imported(event(1, "created", created)), imported(say(2, "main", "user", "hi"))}, nil},
		"of no sense": {
			[]eventstore.NewEvent{
				event(1, "created", ""), event(1, "created", `"sessionKey":7`), event(1, "created", `"sessionKey":"eden"`),
				event(1, "message", `"sessionKey":"agent:eden:main","text":"by no one"`), event(1, "created", `"sessionKey":"agent::main"`),
				event(1, "renamed", created), event(1, "created", `"SESSIONKEY":"agent:eden:main"`),
			},
			nil,
		},
		"of half a sense": {
			[]eventstore.NewEvent{
				event(1, "created", `"sessionKey":"agent:eden:main","sessionId":"t 1"`),
				event(2, "patched", `"sessionKey":"agent:eden:main","set":["label"],"unset":"label"`),
				event(3, "patched", `"sessionKey":"agent:eden:main","set":{"label":7,"x":{"b":1,"a":[ 2 ]}},"unset":[1]`),
				say(4, "main", "user", "hi", `"sessionId":"unheard-of","usage":[],"channel":{}`),
			},
			[]string{
				`Row=1 Key=agent:eden:main Agent=eden Kind=main ID=<id> Settings={"x":{"b":1,"a":[2]}} CreatedAt=1 UpdatedAt=4 Seq=4 Messages=1 Title=hi LastRole=user LastText=hi`,
				"| ID=<id> Key=agent:eden:main OpenedAt=1 Messages=1",
			},
		},
		"the transcript of another session is not shared": {
			[]eventstore.NewEvent{
				event(1, "created", `"sessionKey":"agent:seum:main","sessionId":"t1"`),
				event(2, "reset", `"sessionKey":"agent:seum:main","sessionId":"t2"`),
				withID(event(3, "created", created)),
				say(4, "main", "user", "hi", `"sessionId":"t1"`),
				say(5, "main", "user", "ho", `"sessionId":"t2"`),
			},
			[]string{
				"Row=3 Key=agent:eden:main Agent=eden Kind=main ID=<id> CreatedAt=3 UpdatedAt=5 Seq=5 Messages=2 Title=hi LastRole=user LastText=ho",
				"Row=1 Key=agent:seum:main Agent=seum Kind=main ID=t2 CreatedAt=1 UpdatedAt=2 Seq=2 TokensFresh=true",
				"| ID=<id> Key=agent:eden:main OpenedAt=3 Messages=2",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for i := range c.events {
				if c.events[i].ID.IsZero() {
					c.events[i] = withID(c.events[i])
				}
			}
			l.append(t, c.events...)
			check := func(how string) {
				t.Helper()
				var got []string
				for _, s := range l.list(t, sessions.Query{}) {
					got = append(got, brief(s))
				}
				for _, tr := range l.transcripts(t, "agent:eden:main") {
					got = append(got, "| "+brief(tr))
				}
				for i := range got {
					for _, e := range c.events {
						got[i] = strings.ReplaceAll(got[i], e.ID.String(), "<id>")
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
			check("live")
			if !eachRebuilt {
				return
			}
			if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
				t.Fatal(err)
			}
			check("rebuilt")
		})
	}
}

func imported(e eventstore.NewEvent) eventstore.NewEvent {
	e.Actor = eventstore.ActorImport
	return e
}

// withID gives an event an id of its own.
func withID(e eventstore.NewEvent) eventstore.NewEvent {
	e.ID = eventstore.DerivedID(e.TS, eventstore.PayloadHash([]byte(e.Type), e.Data, nil))
	return e
}
