{{/* The name of every object: the release's, with the chart's unless it contains it. */}}
{{- define "headwater.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}
{{- $name = printf "%s-%s" $name .Chart.Name -}}
{{- end -}}
{{- $name | trunc 45 | trimSuffix "-" -}}
{{- end }}

{{/* The labels by which pods are selected. They never change. */}}
{{- define "headwater.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "headwater.labels" -}}
{{ include "headwater.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "headwater.podMetadata" -}}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
labels:
  {{- include "headwater.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* What all pods have, except their security context and volumes. */}}
{{- define "headwater.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 70
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "headwater.account" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What all containers have, except their name, arguments and mounts. */}}
{{- define "headwater.container" -}}
{{- $image := .Values.image -}}
{{- $version := printf ":%s" (default .Chart.AppVersion $image.tag) -}}
{{- with $image.digest }}{{ $version = printf "@%s" . }}{{ end -}}
image: {{ printf "%s%s" $image.repository $version | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- with .Values.secret }}
envFrom:
  - secretRef: { name: {{ . }} }
{{- end }}
env:
  {{- range $name, $value := .Values.settings }}
  {{- if ne (toString $value) "" }}
  - { name: {{ $name }}, value: {{ $value | toString | quote }} }
  {{- end }}
  {{- end }}
{{- end }}

{{/* How the container of an API is reached and watched. `patience` is the number of seconds that it may start for. */}}
{{- define "headwater.api" -}}
ports:
  - { name: http, containerPort: 8080 }
# Other nodes learn that a pod stops, and send it no more connections.
lifecycle:
  preStop:
    sleep: { seconds: 5 }
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: {{ div .patience 2 }}
readinessProbe:
  httpGet: { path: /readyz, port: http }
  timeoutSeconds: 5
livenessProbe:
  httpGet: { path: /healthz, port: http }
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}
