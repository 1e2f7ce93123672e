package a2a

// OutcomeText is the text of a response without an answer, as the original gateway writes it: the first matching row.
func OutcomeText(waitError, waitStatus string) string {
	const text = "[outcome] blocked: 응답을 받지 못했습니다"
	switch {
	case waitError != "":
		return text + " (" + waitError + ")"
	case waitStatus == statusNotFound:
		return text + " (실행 상태를 찾을 수 없음)"
	case waitStatus == statusError:
		return text + " (실행 오류)"
	case waitStatus == statusTimeout:
		return text + " (대기 시간 300초 초과)"
	}
	return text
}
