package coordination_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestParticles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"이든": "이", "루다": "가", "세움": "이", "다짐": "이", "병욱": "이", "하늘": "이", "소피아": "가", "나래": "가",
		"이든 ": "이", "이든🐣": "이", "루다!!": "가", "이든(Ruda)": "이", "루다 (이든)": "가", "\u110b\u1175\u1103\u1173\u11ab": "이", "\u1105\u116e\u1103\u1161": "가", "ㄱ": "이", "ㅏ": "가",
		"봇 1": "이", "봇 2": "가", "봇 3": "이", "봇 4": "가", "봇 5": "가", "봇 6": "이", "봇 7": "이", "봇 8": "이", "봇 9": "가", "봇 10": "이",
		"Eden": "이", "Ruda": "가", "Seum": "이", "Dajim": "이", "Jack": "이", "Bob": "이", "Pat": "이", "Scott": "이", "Daniel": "이", "Wang": "이",
		"Jane": "이", "Google": "이", "bot": "이", "Mark": "가", "Robert": "가", "Peter": "가", "David": "가", "Chris": "가", "Max": "가", "Claude": "가",
		"Kate": "가", "Ruby": "가", "agent": "가", "Greg": "가", "Zoe": "가", "QA": "가", "HR": "이", "PM": "이", "DB": "가", "LLM": "이", "A": "가",
		"eden2": "가", "😀": "이(가)", "": "이(가)", "伊藤": "이(가)", "()": "이(가)",
	} {
		if got := coordination.AsSubject(name); got != name+want {
			t.Errorf("the subject of a sentence: got %s, want %s", got, name+want)
		}
		topic := map[string]string{"이": "은", "가": "는", "이(가)": "은(는)"}[want]
		if got := coordination.AsTopic(name); got != name+topic {
			t.Errorf("its topic: got %s, want %s", got, name+topic)
		}
	}
}
