package response_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination/response"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	eden, person := response.Party{Name: "이든"}, response.Party{Name: "병욱"}
	for _, tt := range []struct{ name, got, want string }{
		{"reminder", response.Reminder(eden), "[리마인더] @이든 위 요청 확인 부탁해요."},
		{"reminder in Discord", response.Reminder(response.Party{Name: "이든", UserID: "42"}), "[리마인더] <@42> 위 요청 확인 부탁해요."},
		{"escalation", response.Escalation(person, eden, 15), "⚠️ @병욱 이든이 15분째 무응답입니다. 확인 필요."},
		{"escalation in Discord", response.Escalation(response.Party{UserID: "9"}, response.Party{Name: "루다", UserID: "42"}, 16),
			"⚠️ <@9> 루다가 16분째 무응답입니다. 확인 필요."},
		{"escalation without a person", response.Escalation(response.Party{}, eden, 15), "⚠️ 이든이 15분째 무응답입니다. 확인 필요."},
		{"note", response.Note("이든"), "이든에게 메시지를 전달했습니다. 스레드에서 응답을 기다리세요."},
		{"note in a thread that is shared", response.SharedNote("이든"), "이든과 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다."},
		{"the same", response.SharedNote("루다"), "루다와 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다."},
	} {
		equal(t, tt.name, tt.got, tt.want)
	}
	for _, text := range []string{response.Reminder(eden), response.Escalation(person, eden, 15), response.Escalation(response.Party{}, response.Party{Name: "?"}, 3)} {
		if !response.SystemText(text) {
			t.Errorf("%q is not known as the system's", text)
		}
	}
	for _, text := range []string{"", response.Note("이든"), "[리마인더] 내일 회의", "⚠️ 이든이 화났어요"} {
		if response.SystemText(text) {
			t.Errorf("%q is taken for the system's", text)
		}
	}
}
