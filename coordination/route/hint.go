package route

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// primaryHint is for the first of several mentioned agents.
const primaryHint = "당신이 이 요청의 주 담당입니다. 리드하여 응답하세요."

// secondaryHint is for the others.
func secondaryHint(primary string) string {
	return fmt.Sprintf("당신은 보조 역할입니다. %s의 응답이 있으면 참고하여 보완 의견을 제시하세요.", primary)
}

// addressedHint is for thread participants that handle a message which mentions others.
func addressedHint(names []string) string {
	return fmt.Sprintf("이 메시지는 %s에게 한 말입니다. 덧붙일 것이 있을 때만 답하고, 없으면 NO_REPLY라고만 답하세요.", strings.Join(names, ", "))
}

// collaborateHint is for handlers of a message that names an agent which does not handle it.
func collaborateHint(name, agent string) string {
	return fmt.Sprintf("메시지에 %s 언급되었습니다. %s 이 메시지를 처리하지 않으므로, 전할 내용이 있으면 collaborate(targetAgent: %q) 도구를 사용하세요.",
		coordination.AsSubject(name), coordination.AsTopic(name), agent)
}
