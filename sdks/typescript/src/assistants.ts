/** Returns the MCP address of a Space. */
export function assistantUrl(baseUrl: string, spaceId: number): string {
  return `${baseUrl.replace(/\/+$/, "")}/mcp/${spaceId}/public-api`;
}

export type AssistantServer = { type: "http"; url: string; headers?: { Authorization: string } };

/** Returns an `mcpServers` configuration: with a personal `token`, otherwise with login. */
export function configureAssistant(
  baseUrl: string,
  spaceId: number,
  token?: string,
): { mcpServers: { headwater: AssistantServer } } {
  const server: AssistantServer = { type: "http", url: assistantUrl(baseUrl, spaceId) };
  if (token) server.headers = { Authorization: `Bearer ${token}` };
  return { mcpServers: { headwater: server } };
}
