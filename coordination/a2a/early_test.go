package a2a_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/a2a"
)

const longer = " 그리고 다음 단계는 배포 준비와 회귀 시험입니다, 순서대로 진행합니다"

func TestTurnsEndEarly(t *testing.T) {
	t.Parallel()
	words := strings.Fields("a b c d e f g h i j k l m n o p q r s t")
	some := func(n int) string { return strings.Join(words[:n], " ") }
	for _, c := range []struct{ text, before, want string }{
		{some(20), some(20), "repetition_detected"},
		{strings.ToUpper(some(20)) + "\n", "  " + some(20), "repetition_detected"},
		{some(20) + " ?", some(20), "repetition_detected"}, // a question that was asked before, too
		{some(20), some(18), "repetition_detected"},        // 0.9
		{some(20), some(17), ""},                           // 0.85
		{some(20) + " t t t t t", some(18), "repetition_detected"},
		{some(20), "", ""},
		{"", "", "minimal_content"},
		{"네 그렇게 하죠", "", "minimal_content"},
		{"네 그렇게 하죠?", "", ""},
		{"네 그렇게 하죠？", "", ""},
		{strings.Repeat("가", 19), "", "minimal_content"},
		{strings.Repeat("가", 19) + " \n", "", "minimal_content"},
		{strings.Repeat("가", 20), "", ""},
		{"[[reply_to_current]]\n" + strings.Repeat("가", 19), "", "minimal_content"},
		{"알겠습니다." + longer, "", "conclusion_detected"}, {"네, 알겠습니다" + longer, "", "conclusion_detected"}, {"확인했습니다" + longer, "", "conclusion_detected"},
		{"감사합니다!" + longer, "", "conclusion_detected"}, {"네 이해했습니다" + longer, "", "conclusion_detected"}, {"네, 이해했습니다" + longer, "", "conclusion_detected"},
		{"완료했습니다." + longer, "", "conclusion_detected"}, {"완료:" + longer, "", "conclusion_detected"},
		{"  Understood, " + longer, "", "conclusion_detected"}, {"Got it." + longer, "", "conclusion_detected"}, {"THANKS" + longer, "", "conclusion_detected"},
		{"Noted" + longer, "", "conclusion_detected"}, {"Done" + longer, "", "conclusion_detected"}, {"confirmed!" + longer, "", "conclusion_detected"},
		{"완료되지 않은 일이 남았습니다" + longer, "", ""}, {"Donetsk" + longer, "", ""}, {"Thanksgiving" + longer, "", ""}, {"notedly" + longer, "", ""},
		{"아직 알겠습니다라고 할 수 없어요" + longer, "", ""}, {"네" + longer, "", ""},
	} {
		if got := a2a.EndsEarly(c.text, c.before); got != c.want {
			t.Errorf("%q after %q: %q, not %q", c.text, c.before, got, c.want)
		}
	}
}

func TestBug09_AnAcknowledgementThatAsksIsNoConclusion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"알겠습니다." + longer + ". 그런데 기한은 언제인가요?", "감사합니다! 혹시 담당자가 누구인지 알 수 있을까요？ 미리 고맙습니다", "Got it. Which branch should I take for the release?",
		"Done - shall I deploy it right away, or wait?",
	} {
		if got := a2a.EndsEarly(text, ""); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, mark := range []string{"?", "？"} { // without the mark it would be one
		if text := "알겠습니다." + longer; a2a.EndsEarly(text, "") != "conclusion_detected" || a2a.EndsEarly(text+mark, "") != "" {
			t.Errorf("%q", text+mark)
		}
	}
}
